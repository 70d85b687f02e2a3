[inputs: ["mix.exs", "elixir/{examples,lib,test}/**/*.{ex,exs}"], line_length: 110]
