defmodule Fyris.Verbs.Tables do
  @moduledoc false
  # The functions of `Fyris` that make tables, name them and tell of them.

  alias Fyris.Table

  defmacro __using__(_) do
    quote location: :keep do
      defbang new(options :: options \\ []) :: Table.t(),
              """
              Makes a table that belongs to the caller and goes with it. See `t:options/0`; the error of an option that
              is none names those that there are. O(1).
              """,
              [
                ~S|table = Fyris.new!(type: :ordered_set)|,
                ~S|Enum.into([b: 2, a: 1], table)|,
                ~S|Enum.to_list(table)|,
                ~S|[a: 1, b: 2]|
              ] do
        %Table{id: :fyris.new(Keyword.get(options, :name, :fyris), native(options))}
      end

      defbang open(name :: atom, options :: options \\ []) :: Table.t(),
              """
              Returns the table of this name; makes it with these options if there is none. One of two callers makes it,
              both get it; it has to have the type and key position asked for. O(1).
              """,
              [
                ~S|table = Fyris.open!(:open_example, owner: :none)|,
                ~S|Fyris.size(table)|,
                ~S|0|
              ] do
        %Table{id: :fyris.open(name, native(options))}
      end

      defbang delete_table(table :: table) :: :ok,
              """
              Deletes a table with all that is in it. From then on no caller finds it.
              """,
              [~S|table = Fyris.new!()|, ~S|Fyris.delete_table!(table)|, ~S|:ok|] do
        true = :fyris.delete(id(table))
        :ok
      end

      defbang give_away(table :: table, pid :: pid, data :: term) :: :ok,
              """
              Makes another process the owner; it gets `{:"ETS-TRANSFER", table, from, data}`.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|pid = spawn(fn -> Process.sleep(1000) end)|,
                ~S|Fyris.give_away!(table, pid, :data)|,
                ~S|:ok|
              ] do
        true = :fyris.give_away(id(table), pid, data)
        :ok
      end

      defbang snapshot(table :: table | [table]) :: Table.t() | [Table.t()],
              """
              Returns the table as it is at this moment, or all tables of a list as they are at one moment: to be read
              as a table is, streamed and enumerated, while others write and do not wait. What writes raises
              `ArgumentError`. It lasts until `release/1`, or until the process ends that took it.
              """,
              [
                ~S|live = Fyris.new!()|,
                ~S|Fyris.put!(live, :joe, 1)|,
                ~S|table = Fyris.snapshot!(live)|,
                ~S|Fyris.put!(live, :joe, 2)|,
                ~S|{Fyris.fetch!(table, :joe), Enum.to_list(table)}|,
                ~S|{1, [joe: 1]}|
              ] do
        case table do
          tables when is_list(tables) ->
            for snapshot <- :fyris.snapshot(Enum.map(tables, &id/1)), do: %Table{id: snapshot}

          table ->
            %Table{id: :fyris.snapshot(id(table))}
        end
      end

      defbang release(snapshot :: Table.t() | [Table.t()]) :: :ok,
              """
              Ends a snapshot, or several. What only these saw is freed in the background.
              """,
              [
                ~S|snapshot = Fyris.snapshot!(Fyris.new!())|,
                ~S|Fyris.release!(snapshot)|,
                ~S|:ok|
              ] do
        true = snapshot |> List.wrap() |> Enum.map(&id/1) |> :fyris.release()
        :ok
      end

      @doc "Returns what there is to know of a table; `nil` if there is none."
      @spec info(table) :: keyword | nil
      def info(table), do: table |> id() |> :fyris.info() |> or_nil()

      @doc "Returns the number of objects: exact, whatever others do."
      @spec size(table) :: non_neg_integer | nil
      def size(table), do: table |> id() |> :fyris.info(:size) |> or_nil()

      @doc "Returns the table of a name, or `nil`."
      @spec whereis(atom) :: Table.t() | nil
      def whereis(name) do
        case :fyris.whereis(name) do
          :undefined -> nil
          id -> %Table{id: id}
        end
      end

      defp or_nil(:undefined), do: nil
      defp or_nil(value), do: value

      defp native(options), do: Enum.map(options, &native_option/1) |> List.flatten()

      defp native_option({:name, _}), do: :named_table
      defp native_option({:type, type}), do: type
      defp native_option({:access, access}), do: access
      defp native_option({:heir, {pid, data}}), do: {:heir, pid, data}

      defp native_option({:secondary, indexes}) when is_list(indexes),
        do: for({name, value} <- indexes, do: {:secondary, name, value})

      defp native_option({:compressed, true}), do: :compressed
      defp native_option({:compressed, false}), do: []
      defp native_option(other), do: other
    end
  end
end
