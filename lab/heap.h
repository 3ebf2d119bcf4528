// What a program that trains asks of malloc.
#pragma once

namespace sextant::lab {

// Gives back to the system what was freed so far (text and tokenizer leave 25 MB), and from now on
// keeps what is freed: every step makes the same tensors, and without this most of them are pages
// fresh from the system each time. For the whole process, so programs call it and libraries do not.
// Does nothing where the C library has no such settings.
void PrepareHeapForTraining();

}  // namespace sextant::lab
