// The sections of the report, a file each; all follow the same results.
#pragma once

#include "lab/report/html.h"
#include "lab/report/summary.h"

namespace sextant::lab {

struct Report {
  Results results;
  Summary summary;

  bool AnyFinished() const { return summary.finished > 0; }
};

// Each adds the content of a section below its heading, or says in words what is missing.
void AddSummarySection(Html& html, const Report& report);
void AddCurveSection(Html& html, const Report& report);
void AddPositionSection(Html& html, const Report& report);
void AddLengthSection(Html& html, const Report& report);
void AddExpectationSection(Html& html, const Report& report);
void AddProbeSection(Html& html, const Report& report);
void AddTableSection(Html& html, const Report& report);
void AddStorySection(Html& html, const Report& report);
void AddSchemeSection(Html& html, const Report& report);
void AddProtocolSection(Html& html, const Report& report);
void AddRepeatSection(Html& html, const Report& report);
void AddRunSection(Html& html, const Report& report);

}  // namespace sextant::lab
