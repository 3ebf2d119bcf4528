// Colours of both themes and the layout from 360 px up.
#include "lab/report/page_style.h"

#include <fmt/format.h>

#include <string_view>

#include "sextant/plot/figure.h"

namespace sextant::lab {
namespace {

// Text on its ground has at least 4.5:1 in both themes.
constexpr std::string_view kLight =
    "--ink:#1d2126;--muted:#59616b;--grid:#dde1e6;--paper:#ffffff;--ground:#f6f7f9;"
    "--link:#0b5cad;--yes:#0f6b3f;--no:#a3261b;--open:#7a5200;--tint:#eef3fa;color-scheme:light";
constexpr std::string_view kDark =
    "--ink:#e8eaed;--muted:#a4acb6;--grid:#343a42;--paper:#15181c;--ground:#0e1013;"
    "--link:#8fc0ff;--yes:#7fd7a4;--no:#ff9c8f;--open:#f0c36a;--tint:#1c2530;color-scheme:dark";

constexpr std::string_view kLayout = R"(
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;
overflow-wrap:break-word}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-100rem}
.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.5rem 1rem;z-index:2}
header,main,footer{max-width:78rem;margin:0 auto;padding:0 1rem}
header{padding-top:1.5rem}
h1{font-size:clamp(1.6rem,5vw,2.3rem);line-height:1.15;margin:0 0 .4rem;letter-spacing:-.01em}
h2{font-size:1.4rem;line-height:1.25;margin:0 0 .5rem}
h3{font-size:1.05rem;margin:1.6rem 0 .4rem}
p,ul,dl{margin:.5rem 0 .9rem}
p,li,dd,figcaption,.notes{max-width:46rem}
.lead{font-size:1.15rem;line-height:1.5;margin:.8rem 0}
.muted,figcaption,caption,.unit{color:var(--muted)}
.notes{font-size:.92rem;color:var(--muted);padding-left:1.2rem}
.warning{border-left:4px solid var(--open);background:var(--paper);padding:.6rem .9rem;
max-width:46rem}
nav ul{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:.8rem 0 1.2rem}
section{background:var(--paper);border:1px solid var(--grid);border-radius:.6rem;
padding:1.1rem 1rem;margin:0 0 1.1rem}
@media (min-width:720px){section{padding:1.4rem 1.6rem}}
.scroll{overflow-x:auto;margin:.6rem 0;border:1px solid var(--grid);border-radius:.4rem}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums;min-width:100%}
caption{text-align:left;padding:.5rem .7rem;font-size:.9rem}
caption span{position:sticky;left:.7rem;display:inline-block;max-width:min(44rem,100vw - 5rem)}
th,td{padding:.4rem .7rem;text-align:left;vertical-align:top;border-top:1px solid var(--grid)}
thead th{border-top:0;vertical-align:bottom;font-weight:600;color:var(--muted)}
caption+thead th{border-top:1px solid var(--grid)}
th.number,td.number{text-align:right;white-space:nowrap}
th.group,td.group{text-align:center;border-left:1px solid var(--grid)}
td.first,th.first{border-left:1px solid var(--grid)}
tbody th{font-weight:600;white-space:nowrap;background:var(--paper)}
.pinned tbody th,.pinned thead th:first-child{position:sticky;left:0;z-index:1;
background:var(--paper)}
@media (max-width:719px){.pinned tbody th{white-space:normal;overflow-wrap:break-word;
max-width:9rem}.pinned .key{display:block;margin-bottom:.1rem}th,td{padding:.35rem .5rem}}
@media (min-width:720px){wbr{display:none}}
.requirements td{min-width:11.5rem}
tr.baseline td,tr.baseline th{background:var(--tint)}
td.cannot{color:var(--muted);font-size:.85rem;min-width:11rem;white-space:normal}
td small,.about{display:block;color:var(--muted);font-size:.82rem}
.key{width:2.1rem;height:1rem;vertical-align:-.2rem;margin-right:.45rem}
.yes{color:var(--yes);font-weight:600}
.no{color:var(--no);font-weight:600}
.open{color:var(--open);font-weight:600}
.figures,.small-figures,.stories{display:grid;gap:1.2rem 2rem;margin:1rem 0;align-items:start;
grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr))}
.small-figures{grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr))}
.figures article{min-width:0}
.figures article h3{margin-top:0}
.stories{grid-template-columns:repeat(auto-fill,minmax(min(100%,19rem),1fr));gap:1rem}
section>:last-child{margin-bottom:0}
.small-figures .sx-figure{font-size:15px}
.small-figures .sx-figure .sx-title{font-size:17px}
figure{margin:0;min-width:0}
figcaption{font-size:.92rem;margin-top:.35rem}
details{margin:.5rem 0}
summary{cursor:pointer;color:var(--link)}
.story{border:1px solid var(--grid);border-radius:.4rem;padding:.8rem .9rem}
.story h3,.story h4{margin:0 0 .4rem;font-size:1rem}
.story p{margin:0;white-space:pre-line}
.expectations{list-style:none;padding:0;margin:.8rem 0}
.expectations>li{border-top:1px solid var(--grid);padding:.8rem 0;max-width:none}
.expectations h3{margin:0}
.expectations ul{list-style:none;padding:0;margin:.4rem 0 0}
.expectations ul li{display:flex;flex-wrap:wrap;gap:0 .7rem;font-size:.92rem;max-width:none;
font-variant-numeric:tabular-nums;padding:.12rem 0}
@media (min-width:720px){.expectations ul li{display:grid;grid-template-columns:21rem 22rem auto}}
@media (max-width:719px){.expectations ul li+li{border-top:1px dotted var(--grid)}}
pre{background:var(--ground);border:1px solid var(--grid);border-radius:.4rem;padding:.7rem .9rem;
white-space:pre-wrap;overflow-wrap:anywhere;font-size:.88rem}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
dl.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,15rem),1fr));
gap:.35rem 1.4rem;font-size:.92rem}
dl.facts>div{display:flex;justify-content:space-between;gap:.8rem;
border-bottom:1px solid var(--grid);padding-bottom:.15rem;min-width:0}
dl.facts dt{color:var(--muted)}
dl.facts dd{margin:0;text-align:right;overflow-wrap:anywhere;min-width:0}
dl.protocols dt{font-weight:600}
dl.protocols dd{margin:0 0 .7rem}
footer{padding-bottom:2rem;color:var(--muted);font-size:.9rem}
@media print{body{background:#fff}section{border:0;padding:0}figure{break-inside:avoid}
.scroll{overflow:visible}}
)";

}  // namespace

std::string PageCss() {
  return fmt::format(
             ":root{{{}}}\n@media "
             "(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{}}}}}"
             "\n:root[data-theme=dark]{{{}}}",
             kLight, kDark, kDark) +
         "\n" + plot::FigureCss() + std::string(kLayout);
}

}  // namespace sextant::lab
