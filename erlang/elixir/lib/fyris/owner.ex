defmodule Fyris.Owner do
  @moduledoc false
  # A process that owns a table and does nothing else: what `Fyris.child_spec/1` starts.
  use GenServer

  def start_link(options), do: GenServer.start_link(__MODULE__, options)

  @impl true
  def init(options) do
    case Fyris.new(Keyword.put_new(options, :access, :public)) do
      {:ok, table} -> {:ok, table}
      {:error, error} -> {:stop, error}
    end
  end
end
