// No positional encoding: attention sees a set; only a causal mask gives order away.
#include "sextant/schemes/erased.h"

namespace sextant {
namespace schemes {

struct None {
  static constexpr SchemeInfo info{
      "none", "No positions (NoPE)", "score(i, j) = q . k",
      "Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466",
      "some layers of SmolLM3, Llama 4, Command A"};
  void fields(auto&) {}
  Claims claims() const { return {.relative = true, .keeps_norms = true, .any_length = true}; }
};

}  // namespace schemes
template SchemeEntry EntryOf<schemes::None>();
}  // namespace sextant
