// Writes HTML elements: text is escaped and tags close as they opened.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sextant/plot/svg.h"

namespace sextant::lab {

// A growing document. Empty elements are written as <br/>, so that it is well-formed XML too.
class Html {
 public:
  // An element that is open for as long as this lives.
  class Inside {
   public:
    ~Inside() { html_.Close(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    friend class Html;
    explicit Inside(Html& html) : html_(html) {}

    Html& html_;
  };

  // Opens an element; what is added until the value dies lies inside it.
  [[nodiscard]] Inside In(std::string_view element, plot::Attributes attributes = {});

  // An element that holds `text` and nothing else.
  void Element(std::string_view element, std::string_view text) { Element(element, {}, text); }
  void Element(std::string_view element, plot::Attributes attributes, std::string_view text);

  // One without content or closing tag, like meta.
  void Void(std::string_view element, plot::Attributes attributes);

  void Text(std::string_view text);

  // Well-formed markup as it is: a figure, a style sheet. Never anything from a results document.
  void Markup(std::string_view markup) { text_ += markup; }

  std::string Take() { return std::move(text_); }

 private:
  void Start(std::string_view element, plot::Attributes attributes);
  void Close();

  std::string text_;
  std::vector<std::string> open_;
};

}  // namespace sextant::lab
