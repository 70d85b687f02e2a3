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
      package: package(),
      compilers: [:fyris_native | Mix.compilers()] ++ [:fyris_docs],
      erlc_options: [:debug_info],
      elixirc_paths: ["elixir/lib"],
      test_paths: ["elixir/test"],
      # The compiler finds the behaviour of Mnesia, which is no dependency: it would start with the application.
      prune_code_paths: false,
      aliases: [docs: &docs/1],
      deps: []
    ]
  end

  # Pages of the Erlang modules, as `rebar3 edoc` makes them, and beside them of the Elixir ones, whose text stays as it
  # is written: what makes pages of Markdown would have to come from Hex.
  defp docs(_) do
    Code.ensure_loaded?(:edoc) || Mix.raise("mix docs needs edoc of Erlang (Debian's package erlang-edoc)")
    Mix.Task.run("compile")
    :ok = :edoc.application(:fyris, ~c".", preprocess: true)

    rows =
      for file <- Path.wildcard("#{Mix.Project.compile_path()}/Elixir.*.beam"),
          module = file |> Path.basename(".beam") |> String.to_atom(),
          {:docs_v1, _, :elixir, _, %{"en" => text}, _, entries} <- [Code.fetch_docs(module)] do
        File.write!("doc/#{module}.html", page(inspect(module), text, entries))

        ~s(<tr><td><a href="#{module}.html" target="overviewFrame" class="module">#{inspect(module)}</a></td></tr>\n)
      end

    list = "doc/modules-frame.html"
    File.write!(list, String.replace(File.read!(list), "</table>", "\n#{rows}</table>"))
    Mix.shell().info("the pages begin at doc/index.html")
  end

  defp page(name, text, entries) do
    parts =
      for {{kind, _, _}, _, signature, %{"en" => doc}, _} when kind in [:function, :macro] <- entries,
          do: [
            "<h3 class=\"function\">",
            escape(Enum.join(signature, " ")),
            "</h3>\n<pre>",
            escape(doc),
            "</pre>\n"
          ]

    head = "<!DOCTYPE html>\n<meta charset=\"utf-8\"><link rel=\"stylesheet\" href=\"stylesheet.css\">\n"
    [head, "<title>#{name}</title>\n<h1>#{name}</h1>\n<pre>", escape(text), "</pre>\n" | parts]
  end

  defp escape(text), do: text |> String.replace("&", "&amp;") |> String.replace("<", "&lt;")

  def application, do: []

  # `make dist` lays a folder out in which `mix hex.build` finds all of this.
  defp package do
    [
      licenses: ["Apache-2.0", "MIT"],
      links: %{},
      files: ~w(src elixir/lib native docs.sh mix.exs rebar.config README.md FROM_ETS.md USES.md CHANGELOG.md
        LICENSE-APACHE LICENSE-MIT LICENSE-THIRD-PARTY)
    ]
  end
end
