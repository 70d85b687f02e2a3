defmodule Fyris.MixProject do
  use Mix.Project

  # The application `fyris` of the folder above, built by its Makefile. Nothing comes from Hex.
  def project do
    [
      app: :fyris_elixir,
      version: "0.1.0",
      elixir: "~> 1.14",
      deps: [{:fyris, path: "..", manager: :make, compile: "make all"}]
    ]
  end

  def application, do: [extra_applications: [:logger]]
end
