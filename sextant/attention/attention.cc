// The forward call: by the kernel, or by definition where a bias is contextual.
#include "sextant/attention/attention.h"

#include <algorithm>
#include <vector>

#include "sextant/attention/double_heads.h"
#include "sextant/attention/fused_call.h"
#include "sextant/attention/reference.h"

namespace sextant {
namespace {

void ByReference(const Scheme& scheme, Weights weights, const PositionedHeads& in,
                 const HeadsOut& out, float* log_sum_exp) {
  const Array<double, 3> query = ToDouble(in.query), key = ToDouble(in.key),
                         value = ToDouble(in.value);
  const AttentionOutput right = ReferenceAttention(
      scheme, weights,
      {query, key, value, in.query_positions, in.key_positions, in.mask, in.scale});
  FromDouble(right.out, out);
  if (log_sum_exp == nullptr) return;
  const std::vector<double>& sums = right.log_sum_exp.values();
  std::copy(sums.begin(), sums.end(), log_sum_exp);
}

}  // namespace

void Attention(const Scheme& scheme, Weights weights, const PositionedHeads& in,
               const HeadsOut& out, float* log_sum_exp, const AttentionSettings& settings) {
  CheckHeads(scheme, weights, in);
  CheckOut(in, out);
  if (scheme.offers(Hook::kContextual)) {
    return ByReference(scheme, weights, in, out, log_sum_exp);
  }
  Executor& executor = settings.executor != nullptr ? *settings.executor : DefaultExecutor();
  const KernelTables tables(scheme, weights, executor, settings.tables);
  FusedCall(tables, in, settings).Forward(out, log_sum_exp);
}

}  // namespace sextant
