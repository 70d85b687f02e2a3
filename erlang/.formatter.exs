[inputs: ["mix.exs", "elixir/{lib,test}/**/*.{ex,exs}"], line_length: 110]
