defmodule Mix.Tasks.Compile.FyrisNative do
  @moduledoc "Builds `priv/fyris_nif.so` if it is not there or not of these sources (`native/build.sh`)."
  use Mix.Task.Compiler

  @impl true
  def run(_) do
    build = Path.expand("native/build.sh", __DIR__)

    case System.cmd(build, [], into: IO.stream(:stdio, :line), stderr_to_stdout: true) do
      {_, 0} ->
        # The folder of the build leads to `priv/`, which may be new.
        Mix.Project.build_structure()
        {:ok, []}

      {_, status} ->
        Mix.raise("native/build.sh of fyris failed with status #{status}")
    end
  end
end

defmodule Mix.Tasks.Compile.FyrisDocs do
  @moduledoc "Writes what `h :fyris.lookup` shows (`docs.sh`)."
  use Mix.Task.Compiler

  @impl true
  def run(_) do
    {_, 0} =
      System.cmd(Path.expand("docs.sh", __DIR__), [Mix.Project.app_path()], into: IO.stream(:stdio, :line))

    {:ok, []}
  end
end

defmodule Fyris.MixProject do
  use Mix.Project

  # The Erlang modules of `src/`, the Elixir ones of `elixir/lib`, and the native part. Nothing comes from Hex.
  def project do
    [
      app: :fyris,
      version: "0.1.0",
      elixir: "~> 1.14",
      description: "A concurrent term store: ets, and more",
      compilers: [:fyris_native | Mix.compilers()] ++ [:fyris_docs],
      erlc_options: [:debug_info],
      elixirc_paths: ["elixir/lib"],
      test_paths: ["elixir/test"],
      deps: []
    ]
  end

  def application, do: []
end
