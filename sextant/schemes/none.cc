// No positional encoding: attention sees a set; only a causal mask gives order away.
#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct None {
  static constexpr SchemeInfo info{
      "none",
      "No positions (NoPE)",
      "score(i, j) = q . k",
      "Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466",
      "some layers of SmolLM3, Llama 4, Command A",
      "nothing is stored in a model; a config's no_rope_layers has 1 where a layer does use RoPE",
      "with a causal mask a model can count the keys it sees, so order is not lost in length; past "
      "the trained length attention spreads over more keys and quality falls",
      "no_rope_layers is read the wrong way round\nNoPE layers of Llama 4 scale queries by "
      "position "
      "(temperature); leaving that out shows only past 8192",
      "none: nothing is computed",
      "NoneTest: queries, keys and scores are left as they are; the conformance suite"};
  void fields(auto&) {}
  Claims claims() const { return {.relative = true, .keeps_norms = true, .any_length = true}; }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::None>();
}  // namespace sextant
