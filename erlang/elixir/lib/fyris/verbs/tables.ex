defmodule Fyris.Verbs.Tables do
  @moduledoc false
  # The functions of `Fyris` that make tables, name them and tell of them.

  alias Fyris.{Options, Table}

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
        native = Options.table(options, :new)
        %Table{id: :fyris.new(Keyword.get(options, :name, :fyris), native)}
      end

      defbang open(name :: atom, options :: options \\ []) :: Table.t(),
              """
              Returns the table of this name; makes it with these options, without `name:`, if there is none. One of two
              callers makes it, both get it. One that is there has to have the type and key position asked for (`:set`
              and 1 where nothing is said); its other options are not compared. O(1).
              """,
              [
                ~S|table = Fyris.open!(:open_example, owner: :none)|,
                ~S|Fyris.size(table)|,
                ~S|0|
              ] do
        %Table{id: :fyris.open(name, Options.table(options, :open))}
      end

      defbang delete_table(table :: table) :: :ok,
              """
              Deletes a table with all that is in it. From then on no caller finds it.
              """,
              [~S|table = Fyris.new!()|, ~S|Fyris.delete_table!(table)|, ~S|:ok|] do
        true = :fyris.delete(id(table))
        :ok
      end

      defbang rename(table :: table, name :: atom) :: Table.t(),
              """
              Gives a table another name, and returns it. Linearizable: a reader that uses the old name sees nothing
              that is written under the new one. The name of a table that was made without `name:` is only shown by
              `info/1`. O(1).
              """,
              [
                ~S|table = Fyris.new!(name: :rename_before)|,
                ~S|table = Fyris.rename!(table, :rename_after)|,
                ~S|{Fyris.size(table), Fyris.whereis(:rename_before)}|,
                ~S|{0, nil}|
              ] do
        %Table{id: :fyris.rename(id(table), name)}
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
              as a table is, streamed and enumerated, while others write and do not wait. What would write is an
              error. It lasts until `release/1`, until no process has a reference to it (keep what this returns), or
              until the process ends that took it.
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
            for snapshot <- :fyris.snapshot(Enum.map(tables, &id/1)),
                do: %Table{id: snapshot, kind: :snapshot}

          table ->
            %Table{id: :fyris.snapshot(id(table)), kind: :snapshot}
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

      @doc "Returns what there is to know of a table, as `:ets.info/1` does; `nil` if there is none. See `info/2`."
      @spec info(table) :: keyword | nil
      def info(table), do: table |> id() |> :fyris.info() |> or_nil()

      @doc """
      Returns one thing that there is to know of a table, `nil` if there is none: also what `info/1` leaves out, as
      `:secondary`, `:subscriptions`, `:snapshots`, `:consistent` and `:index`. `:fyris.info/2` tells of each.

          iex> table = Fyris.new!(secondary: [by_city: {:element, 2}])
          iex> {Fyris.info(table, :secondary), Fyris.info(table, :subscriptions)}
          {[by_city: {:element, 2}], 0}
      """
      @spec info(table, :fyris.info_item()) :: term
      def info(table, item), do: table |> id() |> :fyris.info(item) |> or_nil()

      @doc "Returns the number of objects: exact, whatever others do; `nil` if there is no such table."
      @spec size(table) :: non_neg_integer | nil
      def size(table), do: table |> id() |> :fyris.info(:size) |> or_nil()

      @doc """
      Returns how many bytes all tables take: `:total`, and of it `:objects` with their keys, as far as they do not lie
      in the index itself, and `:indexes` with the rest. Without the large binaries that objects refer to, which are in
      `:erlang.memory(:binary)`. O(number of tables); each is counted at a moment of its own.

          iex> memory = Fyris.memory()
          iex> memory[:objects] + memory[:indexes] == memory[:total]
          true
      """
      @spec memory() :: [{:total | :objects | :indexes, non_neg_integer}]
      def memory, do: :fyris.memory()

      @doc """
      Returns how many bytes a table takes, without the large binaries that its objects refer to; `nil` if there is
      none. O(1).

          iex> table = Fyris.new!()
          iex> empty = Fyris.memory(table)
          iex> Fyris.put!(table, :text, List.duplicate(:word, 1000))
          iex> Fyris.memory(table) > empty
          true
      """
      @spec memory(table) :: non_neg_integer | nil
      def memory(table) do
        case :fyris.info(id(table), :memory) do
          :undefined -> nil
          words -> words * :erlang.system_info(:wordsize)
        end
      end

      @doc "Returns the table of a name, or `nil`."
      @spec whereis(atom) :: Table.t() | nil
      def whereis(name) do
        case :fyris.whereis(name) do
          :undefined -> nil
          id -> %Table{id: id}
        end
      end

      defbang save(table :: table, path :: binary | [char], options :: [save_option] \\ []) :: :ok,
              """
              Writes a table to a file, as it was at one moment, which `load/2` and `:ets.file2tab/1` read. The dump is
              written beside the file and then renamed: who is killed meanwhile leaves the old one whole. O(n).

              `extended_info: [:object_count, :md5sum]` writes these, or one of them, for `load(path, verify: true)`;
              with `sync: true` the file is on disc when the call returns. An option that is none is an error before
              anything is written.
              """,
              [
                ~S|table = Fyris.new!()|,
                ~S|path = Path.join(System.tmp_dir!(), "fyris_save_#{System.pid()}.tab")|,
                ~S|Fyris.save!(table, path, extended_info: [:md5sum], sync: true)|,
                ~S|File.rm(path)|,
                ~S|:ok|
              ] do
        options = Options.validate!(options, [:extended_info, :sync])

        case :fyris.tab2file(id(table), native_path(path), options) do
          :ok -> :ok
          {:error, reason} -> raise %Fyris.Error{reason: reason, function: :tab2file, arity: 3}
        end
      end

      defbang load(path :: binary | [char], options :: [load_option] \\ []) :: Table.t(),
              """
              Makes a table of a file that `save/3` or `:ets.tab2file/2` wrote. It has the name and the settings that
              the other one had, and belongs to the caller. O(n).

              `verify: true` compares the number of objects and the checksum, as far as the file has them; without it
              what is damaged is left out, and a warning is logged. `max_inflated: bytes` bounds what compressed terms
              of the file may take. `:fyris.file2tab/2` has the details, and the reasons of errors.
              """,
              [
                ~S|path = Path.join(System.tmp_dir!(), "fyris_load_#{System.pid()}.tab")|,
                ~S|Fyris.save!(Enum.into([joe: 1], Fyris.new!()), path, extended_info: [:object_count])|,
                ~S|table = Fyris.load!(path, verify: true)|,
                ~S|{Enum.to_list(table), File.rm(path)}|,
                ~S|{[joe: 1], :ok}|
              ] do
        options = Options.validate!(options, [:verify, :max_inflated])

        case :fyris.file2tab(native_path(path), options) do
          {:ok, id} -> %Table{id: id}
          {:error, reason} -> raise %Fyris.Error{reason: reason, function: :file2tab, arity: 2}
        end
      end

      # `disk_log` takes no binaries.
      defp native_path(path), do: path |> IO.chardata_to_string() |> String.to_charlist()

      defp or_nil(:undefined), do: nil
      defp or_nil(value), do: value
    end
  end
end
