// Settings of glibc's malloc.
#include "lab/heap.h"

#include <cstdlib>  // defines __GLIBC__ where it is
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace sextant::lab {

void PrepareHeapForTraining() {
#ifdef __GLIBC__
  malloc_trim(0);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that every glibc takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

}  // namespace sextant::lab
