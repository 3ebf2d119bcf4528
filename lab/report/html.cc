// Tags, attributes and the stack of open elements.
#include "lab/report/html.h"

namespace sextant::lab {
namespace {

// A line break after these keeps the source readable and changes nothing on the page.
bool EndsLine(std::string_view element) {
  for (std::string_view block :
       {"head", "body", "main",    "section", "header", "footer", "nav",   "p",      "h1", "h2",
        "h3",   "tr",   "table",   "thead",   "tbody",  "figure", "div",   "ul",     "ol", "li",
        "dl",   "dd",   "details", "article", "meta",   "title",  "style", "caption"}) {
    if (element == block) return true;
  }
  return false;
}

}  // namespace

void Html::Start(std::string_view element, plot::Attributes attributes) {
  text_ += '<';
  text_ += element;
  for (const plot::Attribute& attribute : attributes) {
    text_ += ' ';
    text_ += attribute.name();
    text_ += "=\"" + plot::EscapeXml(attribute.value()) + "\"";
  }
}

Html::Inside Html::In(std::string_view element, plot::Attributes attributes) {
  Start(element, attributes);
  text_ += '>';
  open_.emplace_back(element);
  return Inside(*this);
}

void Html::Close() {
  text_ += "</" + open_.back() + ">";
  if (EndsLine(open_.back())) text_ += '\n';
  open_.pop_back();
}

void Html::Element(std::string_view element, plot::Attributes attributes, std::string_view text) {
  const Inside inside = In(element, attributes);
  Text(text);
}

void Html::Void(std::string_view element, plot::Attributes attributes) {
  Start(element, attributes);
  text_ += "/>";
  if (EndsLine(element)) text_ += '\n';
}

void Html::Text(std::string_view text) { text_ += plot::EscapeXml(text); }

}  // namespace sextant::lab
