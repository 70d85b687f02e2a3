defmodule FyrisTest do
  use ExUnit.Case, async: true
  doctest Fyris
  doctest Fyris.Table

  defp filled(type, n) do
    table = Fyris.new!(type: type)
    :ok = Fyris.insert!(table, for(i <- 1..n//1, do: {i, i * i}))
    table
  end

  describe "pairs" do
    test "are one value a key" do
      bag = Fyris.new!(type: :bag)
      Fyris.insert!(bag, [{:joe, 1}, {:joe, 2}, {:ann, 1}])
      assert Fyris.get(bag, :ann) == 1

      for read <- [&Fyris.get/2, &Fyris.fetch/2, &Fyris.fetch!/2, &Fyris.pop/2] do
        assert_raise ArgumentError, fn -> read.(bag, :joe) end
      end

      assert_raise ArgumentError, fn -> Fyris.pop(bag, :ann) end
      assert Enum.count(bag) == 3

      second = Fyris.new!(keypos: 2)
      Fyris.insert!(second, [{1, :joe}, {:joe, :ann}])
      assert {Fyris.get(second, :joe), Fyris.get(second, :ann)} == {1, :joe}
      assert {Fyris.pop(second, :joe), Fyris.get(second, :joe)} == {{:ok, 1}, nil}
      Fyris.put!(second, :ann, 3)
      Fyris.put!(second, :ann, 4)
      assert {Fyris.get(second, :ann), Fyris.lookup!(second, :ann)} == {4, [{4, :ann}]}

      assert {:error, %Fyris.Error{} = error} = Fyris.put(bag, :joe, 3)
      assert Exception.message(error) =~ "put does not work on a bag"
      third = Fyris.new!(keypos: 3)
      assert_raise Fyris.Error, ~r"a pair, in a table with keypos 3", fn -> Fyris.put!(third, :joe, 3) end
      assert {Enum.count(bag), Enum.count(third)} == {3, 0}
    end

    test "are put, fetched and popped as in a map" do
      table = Fyris.new!()
      assert Fyris.put(table, :joe, 1) == :ok
      assert Fyris.put!(table, :mike, 2) == :ok
      assert Fyris.fetch(table, :joe) == {:ok, 1}
      assert Fyris.fetch(table, :ann) == :error
      assert Fyris.fetch!(table, :joe) == 1
      assert_raise KeyError, fn -> Fyris.fetch!(table, :ann) end
      assert {Fyris.get(table, :ann), Fyris.get(table, :ann, 7)} == {nil, 7}
      assert {Fyris.member?(table, :joe), Fyris.member?(table, :ann)} == {true, false}
      assert {Fyris.pop(table, :joe), Fyris.pop(table, :joe)} == {{:ok, 1}, :error}
    end

    test "are updated atomically" do
      table = Fyris.new!(access: :public)

      1..4
      |> Enum.map(fn _ ->
        Task.async(fn -> for _ <- 1..500, do: Fyris.update!(table, :n, 1, &(&1 + 1)) end)
      end)
      |> Task.await_many()

      assert Fyris.fetch!(table, :n) == 2000
    end
  end

  describe "two of each" do
    test "a tuple or the result" do
      table = Fyris.new!()
      assert Fyris.insert_new(table, {1, 2}) == {:ok, true}
      assert Fyris.insert_new!(table, {1, 2}) == false
      assert Fyris.lookup(table, 1) == {:ok, [{1, 2}]}
      assert Fyris.lookup_many!(table, [1, 2]) == [[{1, 2}], []]
      assert Fyris.update_counter!(table, 1, {2, 5}) == 7
      assert Fyris.update_counter(table, 9, 1, {9, 0}) == {:ok, 1}
      assert Fyris.compare_and_swap(table, {1, 7}, {1, 8}) == {:ok, true}
      assert Fyris.take!(table, 1) == [{1, 8}]
      assert Fyris.delete(table, 9) == :ok
      assert Fyris.drain!(table) == []
    end

    test "an error says what was wrong" do
      table = Fyris.new!()

      assert {:error, %Fyris.Error{reason: :badarg, function: :insert} = error} =
               Fyris.insert(table, :no_tuple)

      assert Exception.message(error) =~ ":fyris.insert/2"
      assert_raise Fyris.Error, fn -> Fyris.insert!(table, :no_tuple) end
      assert {:error, %Fyris.Error{details: %{1 => text}}} = Fyris.lookup(:no_such_table, 1)
      assert text =~ "does not refer to an existing table"
      assert {:error, %Fyris.Error{function: :new, details: %{2 => text}}} = Fyris.new(type: :heap)
      assert text == "type: is :set, :ordered_set, :bag or :duplicate_bag, not :heap"
      assert {:error, %Fyris.Error{function: :range, details: %{1 => text}}} = Fyris.range(table)
      assert text =~ "type: :ordered_set"
    end

    test "errors of the caller's own fun stay what they are" do
      table = Fyris.new!()
      Fyris.put!(table, 1, 1)
      assert_raise ArithmeticError, fn -> Fyris.update(table, 1, 0, &div(&1, 0)) end
      assert_raise ArgumentError, fn -> Fyris.update(table, 1, 0, fn _ -> raise ArgumentError end) end
      assert_raise ArithmeticError, fn -> Fyris.update_in_object(table, 1, [2], 0, &div(&1, 0)) end

      assert_raise BadFunctionError, fn ->
        Fyris.update_in_object(table, 1, [2], 0, fn part -> part.() end)
      end
    end

    # A fun in another's place was a FunctionClauseError of Fyris.Error, or stayed unseen where it was not called.
    test "what is no fun of one argument is an error, before anything is done" do
      table = Fyris.new!()
      Fyris.put!(table, 1, %{})

      for fun <- [0, nil, fn -> 1 end, &max/2],
          call <- [
            &Fyris.update(table, 2, 0, &1),
            &Fyris.update_in_object(table, 1, [2, :new], 0, &1),
            &Fyris.update_in_object!(table, 1, [2, :new], 0, &1),
            &Fyris.transaction/1
          ] do
        assert_raise ArgumentError, ~r/not a function of one argument/, fn -> call.(fun) end
      end

      assert Enum.to_list(table) == [{1, %{}}]
    end
  end

  describe "a table is a collection" do
    test "of every type" do
      for type <- [:set, :ordered_set, :bag, :duplicate_bag] do
        table = filled(type, 2_000)
        assert Enum.count(table) == 2_000
        assert Enum.member?(table, {3, 9})
        refute Enum.member?(table, {3, 10})
        refute Enum.member?(table, :other)
        refute Enum.member?(table, {})
        assert Enum.sort(table) == for(i <- 1..2_000, do: {i, i * i})
        assert table |> Stream.map(&elem(&1, 0)) |> Enum.sum() == div(2_000 * 2_001, 2)
        assert table |> Enum.take(7) |> length() == 7
        assert :fyris.info(table.id, :fixed) == false
      end
    end

    test "in the order of keys/1, also after a rename" do
      for type <- [:set, :ordered_set, :bag] do
        table = Fyris.new!(name: :fyris_test_run, type: type)
        Fyris.insert!(table, for(n <- 1..2_000, do: {n}))
        assert Enum.map(table, &elem(&1, 0)) == Enum.to_list(Fyris.keys(table))

        seen =
          Enum.count_until(
            Stream.each(table, fn {n} -> n == 1 && Fyris.rename!(:fyris_test_run, :fyris_test_other) end),
            3_000
          )

        assert {seen, Fyris.whereis(:fyris_test_run)} == {2_000, nil}
        assert_raise ArgumentError, fn -> Enum.to_list(table) end
        Fyris.delete_table!(:fyris_test_other)
      end
    end

    test "also for two runs side by side" do
      table = filled(:ordered_set, 1_200)
      assert Enum.zip(table, table) |> Enum.all?(fn {a, b} -> a == b end)
    end

    test "that others may empty meanwhile" do
      table = filled(:set, 3_000)

      seen =
        Enum.reduce(table, 0, fn {key, _}, n ->
          Fyris.delete!(table, key)
          n + 1
        end)

      assert {seen, Fyris.size(table)} == {3_000, 0}
    end

    test "to be filled" do
      table = Enum.into(%{a: 1, b: 2}, Fyris.new!())
      assert Enum.sort(table) == [a: 1, b: 2]
    end

    test "to look at" do
      table = filled(:set, 3)
      tid = inspect(table.id)
      assert inspect(table) == "#Fyris.Table<#{tid}, set, 3 objects>"
      snapshot = Fyris.snapshot!(table)
      assert inspect(snapshot) == "#Fyris.Table<snapshot #{inspect(snapshot.id)}, set, 3 objects>"
      named = Fyris.new!(name: :fyris_test_looked_at)
      assert inspect(named) == "#Fyris.Table<fyris_test_looked_at, set, 0 objects>"
      [snapshot] = Fyris.snapshot!([named])
      assert inspect(snapshot) == "#Fyris.Table<snapshot of fyris_test_looked_at, set, 0 objects>"

      Fyris.transaction(fn tx ->
        [one, two] = Fyris.within!(tx, [table, named])
        assert inspect(one) == "#Fyris.Table<#{tid} in a transaction, set, 3 objects>"
        assert inspect(two) == "#Fyris.Table<fyris_test_looked_at in a transaction, set, 0 objects>"
      end)

      Fyris.release!(snapshot)
      assert inspect(snapshot) == "#Fyris.Table<gone>"
      assert_raise ArgumentError, ~r/the snapshot is released/, fn -> Enum.count(snapshot) end
    end
  end

  describe "order" do
    test "ends that do not count" do
      table = Fyris.new!(type: :ordered_set)
      Fyris.insert!(table, for(n <- 1..9, do: {n}))
      assert Fyris.range!(table, above: 2, below: 5) == [{3}, {4}]
      assert Fyris.range!(table, from: 2, below: 4) == [{2}, {3}]
      assert table |> Fyris.stream(above: 7, keys: true) |> Enum.to_list() == [8, 9]
      assert Fyris.take_range!(table, above: 1, below: 4) == [{2}, {3}]
      assert Fyris.take_range(table, above: 8) == {:ok, [{9}]}
      assert Enum.to_list(table) == [{1}, {4}, {5}, {6}, {7}, {8}]
    end

    test "wrong options change nothing" do
      table = Fyris.new!(type: :ordered_set)
      Fyris.insert!(table, for(n <- 1..9, do: {n}))

      for options <- [
            [form: 5],
            [limit: 1],
            [reverse: true],
            [to: 3, to: :excluded],
            [from: 1, above: 1],
            [to: 3, below: 3],
            [:from],
            [from: 1, keys: true]
          ],
          take <- [&Fyris.take_range/2, &Fyris.take_range!/2] do
        assert_raise ArgumentError, fn -> take.(table, options) end
      end

      for options <- [[form: 5], [limt: 1], [reversed: true], [from: 1, from: 2], [from: 1, above: 1]],
          read <- [&Fyris.range/2, &Fyris.range!/2, &Fyris.stream/2] do
        assert_raise ArgumentError, fn -> read.(table, options) end
      end

      for options <- [[from: 5], [to: 5], [above: 1], [limits: 1]] do
        assert_raise ArgumentError, fn -> Fyris.prefix(table, 1, options) end
      end

      for options <- [[limit: 0], [limit: nil], [reverse: :yes], [keys: 1]] do
        assert {:error, %Fyris.Error{function: :range, details: %{4 => text}}} = Fyris.range(table, options)
        [{name, _}] = options
        assert String.starts_with?(text, "#{name}: is ")

        assert {:error, %Fyris.Error{function: :prefix, details: %{3 => ^text}}} =
                 Fyris.prefix(table, 1, options)
      end

      for call <- [&Fyris.range/2, &Fyris.stream/2, &Fyris.take_range/2, &Fyris.select(&1, [], &2)] do
        assert_raise ArgumentError, ~r/options are a keyword list, not 1..3/, fn -> call.(table, 1..3) end
      end

      assert Enum.count(table) == 9
    end

    test "ranges, prefixes, seek" do
      table = filled(:ordered_set, 100)
      assert Fyris.range!(table, from: 5, to: 7) == [{5, 25}, {6, 36}, {7, 49}]
      assert Fyris.range(table, reverse: true, limit: 1) == {:ok, [{100, 10_000}]}
      assert Fyris.range!(table, to: 2, keys: true) == [1, 2]
      assert {Fyris.seek!(table, 50.5), Fyris.seek!(table, 50.5, :down)} == {{51, 2601}, {50, 2500}}
      assert Fyris.seek!(table, 101) == nil
      {:error, _} = Fyris.nth(table, 0)

      assert_raise Fyris.Error,
                   ~r/argument 2: no index foo for type set: its own is hash, others are avl,.* skip_list/,
                   fn ->
                     Fyris.new!(index: :foo)
                   end

      counted = Fyris.new!(type: :ordered_set, index: :judysl)
      Fyris.insert!(counted, for(n <- 0..9, do: {n * 10, n}))
      assert {Fyris.nth!(counted, 3), Fyris.nth!(counted, 10)} == {30, nil}
      assert {Fyris.rank!(counted, 35), Fyris.count_between!(counted, 10, 30)} == {4, 3}
      assert Fyris.take_range!(table, from: 99) == [{99, 9801}, {100, 10_000}]
      names = Fyris.new!(type: :ordered_set)
      Fyris.insert!(names, [{"joe"}, {"john"}, {"mike"}, {{:a, 1}}, {{:a, 2}}])
      assert Fyris.prefix!(names, "jo") == [{"joe"}, {"john"}]
      assert Fyris.prefix!(names, {:a, :_}, reverse: true) == [{{:a, 2}}, {{:a, 1}}]
    end

    test "a run over a table ends, whatever is put in ahead of it" do
      table = filled(:ordered_set, 2_000)
      # Three objects ahead for each that is read.
      ahead = fn object, last ->
        Fyris.insert!(table, for(n <- 1..3, do: {last + n}))
        {[object], last + 3}
      end

      for run <- [table, Fyris.stream(table)] do
        assert run |> Stream.transform(1_000_000, ahead) |> Enum.take(50_000) |> length() < 50_000
      end

      # The atom of an open end is a key as well.
      Fyris.insert!(table, for(n <- 1..600, do: {[:_ | n]}))
      Fyris.insert!(table, [{:_}, {:a}])
      assert {:_} in Enum.to_list(table)
    end

    test "streams of ranges" do
      table = filled(:ordered_set, 2_345)
      all = for i <- 1..2_345, do: {i, i * i}
      assert table |> Fyris.stream() |> Enum.to_list() == all
      assert table |> Fyris.stream(reverse: true) |> Enum.to_list() == Enum.reverse(all)
      assert table |> Fyris.stream(from: 100, to: 1_600) |> Enum.to_list() == Enum.slice(all, 99..1_599)
      assert table |> Fyris.stream(limit: 700, keys: true) |> Enum.to_list() == Enum.to_list(1..700)
      assert table |> Fyris.stream(from: 2_340, reverse: true) |> Enum.take(3) |> length() == 3
      # Nothing is read before it is asked for.
      stream = Fyris.stream(table)
      Fyris.clear!(table)
      assert Enum.to_list(stream) == []
    end
  end

  describe "options of tables" do
    # They were told by the names that they have in Erlang, some of which Elixir does not have.
    test "are told by their own names" do
      for options <- [
            [typ: :set],
            [named_table: true],
            [:named_table],
            [type: :set, type: :bag],
            :set,
            %{type: :set}
          ],
          make <- [&Fyris.new/1, &Fyris.new!/1, &Fyris.open(:fyris_test_options, &1)] do
        assert_raise ArgumentError, fn -> make.(options) end
      end

      # The name is an argument.
      assert_raise ArgumentError, ~r/:name/, fn -> Fyris.open(:fyris_test_options, name: :other) end

      for option <- [
            type: :orderd_set,
            access: :pubic,
            access: nil,
            keypos: 0,
            heir: :joe,
            owner: self(),
            compressed: 1,
            index: 5,
            secondary: :by,
            write_concurrency: nil,
            read_concurrency: :auto,
            bucket_locks: 3,
            reader_groups: 65,
            consistent: :yes,
            snapshot_ttl: 0
          ],
          make <- [&Fyris.new/1, &Fyris.open(:fyris_test_options, &1)] do
        assert {:error, %Fyris.Error{details: %{2 => text}}} = make.([option])
        assert String.starts_with?(text, "#{elem(option, 0)}: is ")
      end

      assert {:error, %Fyris.Error{}} = Fyris.new(name: "options")
      assert Fyris.whereis(:named_table) == nil
      assert Fyris.whereis(:fyris_test_options) == nil
    end

    test "are those of :fyris" do
      options = [
        name: :fyris_test_all_options,
        type: :bag,
        access: :private,
        keypos: 2,
        heir: {self(), :data},
        compressed: true,
        index: :linear_hash,
        secondary: [by: {:element, 2}],
        write_concurrency: :auto,
        read_concurrency: true,
        decentralized_counters: false,
        bucket_locks: 32_768,
        reader_groups: 64,
        consistent: false,
        snapshot_ttl: 1000
      ]

      table = Fyris.new!(options)
      assert Fyris.info(table)[:compressed]
      assert Fyris.info(table)[:heir] == self()
      assert :fyris.info(table.id, :snapshot_ttl) == 1000
      assert Fyris.info(Fyris.new!(owner: :none))[:owner] == :none
    end
  end

  describe "tables" do
    test "have names, owners and an end" do
      table = Fyris.new!(name: :fyris_test_named, type: :bag, keypos: 2)
      assert Fyris.insert!(:fyris_test_named, {1, 2}) == :ok
      assert Fyris.size(table) == 1
      assert Fyris.info(table)[:keypos] == 2
      assert %Fyris.Table{} = Fyris.whereis(:fyris_test_named)
      assert Fyris.open!(:fyris_test_named, type: :bag, keypos: 2).id == :fyris_test_named
      assert Fyris.delete_table(table) == :ok
      assert {Fyris.info(table), Fyris.size(table), Fyris.whereis(:fyris_test_named)} == {nil, nil, nil}
      assert {:error, %Fyris.Error{}} = Fyris.delete_table(table)
    end

    test "are given away" do
      table = Fyris.new!()
      parent = self()

      pid =
        spawn_link(fn ->
          receive do
            {:"ETS-TRANSFER", id, ^parent, :data} -> send(parent, {:got, id})
          end

          receive do: (:stop -> :ok)
        end)

      assert Fyris.give_away(table, pid, :data) == :ok
      assert_receive {:got, id}
      assert id == table.id
      assert Fyris.info(table)[:owner] == pid
      send(pid, :stop)
    end

    test "live under a supervisor" do
      {:ok, supervisor} = Supervisor.start_link([{Fyris, name: :fyris_test_cache}], strategy: :one_for_one)
      assert Fyris.put(:fyris_test_cache, 1, :one) == :ok
      [{{Fyris, :fyris_test_cache}, owner, :worker, _}] = Supervisor.which_children(supervisor)
      assert Fyris.info(:fyris_test_cache)[:owner] == owner
      # The next one begins empty.
      monitor = Process.monitor(owner)
      Process.exit(owner, :kill)
      assert_receive {:DOWN, ^monitor, _, _, _}
      assert wait_for(fn -> Fyris.size(:fyris_test_cache) end) == 0
      Supervisor.stop(supervisor)
      assert Fyris.whereis(:fyris_test_cache) == nil

      for options <- [[nam: :x], [name: nil]] do
        assert_raise ArgumentError, ~r/needs the option name:/, fn -> Fyris.child_spec(options) end
      end

      Process.flag(:trap_exit, true)
      Fyris.new!(name: :fyris_test_taken)
      assert {:error, %Fyris.Error{}} = Fyris.Owner.start_link(name: :fyris_test_taken)
    end
  end

  test "queries and parts of objects" do
    table = filled(:set, 10)
    assert Fyris.select!(table, [{{:"$1", 49}, [], [:"$1"]}]) == [7]
    assert Fyris.count!(table, [{{:_, :"$1"}, [{:>, :"$1", 50}], [true]}]) == 3
    assert %{size: 10} = Fyris.explain!(table, [{{7, :_}, [], [:"$_"]}])
    Fyris.insert!(table, {:joe, %{lang: [:erlang]}})
    assert Fyris.get_in_object!(table, :joe, [2, :lang, 1]) == :erlang
    assert Fyris.get_in_object!(table, :joe, [2, :none]) == nil

    # A path without the position was a part that is not there.
    for path <- [[:lang], []], call <- [&Fyris.get_in_object/3, &Fyris.delete_in_object/3] do
      assert {:error, %Fyris.Error{details: %{3 => "not a path" <> _}}} = call.(table, :joe, path)
    end
  end

  test "secondary indexes find objects" do
    table =
      Fyris.new!(type: :bag, secondary: [by_group: {:element, 2}, by_size: {:body, [{:tuple_size, :"$_"}]}])

    Fyris.insert!(table, for(n <- 1..10_000, do: {n, rem(n, 2)}))
    Fyris.insert!(table, {1, 2, 3})
    assert Fyris.lookup_by(table, :by_group, 1) == {:ok, for(n <- 1..10_000//2, do: {n, 1})}
    assert Fyris.lookup_by!(table, :by_size, 3) == [{1, 2, 3}]
    assert Fyris.lookup_by!(Fyris.snapshot!(table), :by_size, 3) == [{1, 2, 3}]
    assert %{secondary: :by_group} = Fyris.explain!(table, [{{:"$1", 1}, [], [:"$1"]}])
    assert {:error, %Fyris.Error{} = error} = Fyris.lookup_by(table, :by_name, 1)
    assert Exception.message(error) =~ "no secondary index by_name"
    assert_raise Fyris.Error, ~r/secondary is a name/, fn -> Fyris.new!(secondary: [by: {:element, 0}]) end
    assert_raise Fyris.Error, ~r/secondary/, fn -> Fyris.new!(secondary: :by) end
  end

  test "what is no pair is said to be none, and stays" do
    table = filled(:set, 0)
    Fyris.insert!(table, {:x, 1, 2})

    for call <- [&Fyris.fetch/2, &Fyris.fetch!/2, &Fyris.get/2, &Fyris.pop/2] do
      assert_raise ArgumentError, ~r/3 elements is no pair/, fn -> call.(table, :x) end
    end

    assert_raise ArgumentError, fn -> Fyris.update(table, :x, 0, & &1) end
    assert Fyris.lookup!(table, :x) == [{:x, 1, 2}]
  end

  defp wait_for(fun), do: fun.() || (Process.sleep(5) && wait_for(fun))

  describe "transactions" do
    test "happen as a whole, or leave nothing" do
      [table, other] = [filled(:set, 3), filled(:ordered_set, 3)]

      run = fn last ->
        Fyris.transaction(fn tx ->
          [one, two] = Fyris.within!(tx, [table, other])
          Fyris.put!(one, 1, :new)
          Fyris.delete!(two, 2)
          assert Enum.count(two) == 2
          assert Fyris.get(table, 1) == 1
          last.()
        end)
      end

      assert run.(fn -> Fyris.abort(:why) end) == {:error, :why}
      assert_raise RuntimeError, "why", fn -> run.(fn -> raise "why" end) end
      assert catch_throw(run.(fn -> throw(:why) end)) == :why
      # A timeout of a call in the fun was an answer like that of an abort.
      assert catch_exit(run.(fn -> exit({:timeout, :call}) end)) == {:timeout, :call}
      assert catch_exit(run.(fn -> exit(:why) end)) == :why

      nested = fn ->
        {Fyris.transaction(fn _ -> Fyris.abort(:inner) end), Fyris.transaction(fn _ -> exit(:why) end)}
      end

      assert catch_exit(run.(nested)) == :why
      assert {Fyris.get(table, 1), Fyris.size(other)} == {1, 3}
      assert run.(fn -> :done end) == {:ok, :done}
      assert {Fyris.get(table, 1), Enum.to_list(other)} == {:new, [{1, 1}, {3, 9}]}
    end

    test "need no function where there is nothing to decide" do
      [table, other] = [filled(:set, 3), filled(:ordered_set, 3)]
      then = Fyris.snapshot!(table)
      check = {:check, table, 1, {:unchanged, then}}

      batch = [
        check,
        {:check, other, 9, :absent},
        {:insert, other, [{4, 16}, {5, 25}]},
        {:update_counter, table, 1, [{2, 1}, {2, 1}]},
        {:update_element, table, 7, {2, :new}, {0, 0}},
        {:delete, other, 1}
      ]

      assert Fyris.write_batch(batch) == {:ok, [true, true, true, [2, 3], true, true]}
      assert Enum.to_list(other) == [{2, 4}, {3, 9}, {4, 16}, {5, 25}]
      assert Fyris.write_batch(batch) == {:error, {:check, check}}
      error = catch_error(Fyris.write_batch([{:delete, table, 1}, {:update_counter, table, 8, 1}]))
      assert %Fyris.Error{} = error
      assert Exception.message(error) =~ "operation 1 of the batch: no object has this key"
      assert_raise Fyris.Error, fn -> Fyris.write_batch([:nonsense]) end
      assert Fyris.get(table, 1) == 3
    end

    test "say why nothing has happened" do
      table = filled(:set, 1)

      held = fn tx ->
        within = Fyris.within!(tx, table)
        Fyris.get(within, 1)
        Process.sleep(10)
        Fyris.put!(table, 1, make_ref())
        Fyris.put!(within, 2, 1)
      end

      assert Fyris.transaction(held, hold: 5) == {:error, {:hold_expired, 5}}

      for read <- [&Enum.to_list/1, &Enum.to_list(Fyris.keys(&1)), &Enum.to_list(Fyris.stream_select(&1, []))] do
        late = fn tx ->
          within = Fyris.within!(tx, table)
          Fyris.get(within, 1)
          Process.sleep(10)
          Fyris.put!(table, 1, make_ref())
          read.(within)
          Fyris.put!(within, 2, 1)
        end

        assert Fyris.transaction(late, hold: 5) == {:error, {:hold_expired, 5}}
      end

      people = Fyris.new!(secondary: [by_name: {:unique, {:element, 2}}])
      Fyris.insert!(people, {1, :ada})
      repeat = fn tx -> Fyris.insert!(Fyris.within!(tx, people), {2, :ada}) end
      assert Fyris.transaction(repeat) == {:error, {:not_unique, :by_name, :ada}}
    end

    test "are tried again, and told of a conflict" do
      table = filled(:set, 1)

      busy = fn tx ->
        within = Fyris.within!(tx, table)
        value = Fyris.get(within, 1)
        Fyris.put!(table, 1, value + 1)
        Fyris.put!(within, 2, value)
      end

      assert {:error, {:conflict, _, 1}} = Fyris.transaction(busy, retries: 2)

      assert {Fyris.get(table, 1), Fyris.get(table, 2)} == {4, nil}
      assert_raise ArgumentError, fn -> Fyris.transaction(busy, attempts: 2) end
    end
  end

  describe "changes" do
    test "come as messages, of several tables" do
      [table, other] = [filled(:set, 1), filled(:ordered_set, 1)]
      subscription = Fyris.subscribe!([table, other], :all, active: 1)
      Fyris.put!(other, 2, :two)
      assert_receive {:fyris, ^subscription, 1, {:changes, [{:insert, id, {2, :two}}]}}
      assert id == other.id
      assert_receive {:fyris, ^subscription, :passive}
      assert Fyris.unsubscribe(subscription) == :ok
      assert {:error, %Fyris.Error{details: %{3 => _}}} = Fyris.subscribe(table, :all, from: :now)
      assert {:error, %Fyris.Error{details: %{2 => _}}} = Fyris.subscribe(table, :some)
      assert {:error, %Fyris.Error{details: %{1 => _}}} = Fyris.unsubscribe(make_ref())
    end

    test "are a stream, which ends with the tables and leaves no message" do
      [table, other] = tables = [filled(:set, 3), filled(:ordered_set, 3)]
      parent = self()

      task =
        Task.async(fn ->
          events =
            tables
            |> Fyris.stream_changes(:all, from: :snapshot, active: 2)
            |> Stream.each(&(&1 == :current && send(parent, :current)))
            |> Enum.to_list()

          {events, Process.info(self(), :messages)}
        end)

      assert_receive :current
      for n <- 1..10, do: Fyris.put!(table, n, :new)
      Enum.each([table, other], &Fyris.delete_table!/1)
      {events, messages} = Task.await(task)
      assert messages == {:messages, []}
      assert [{:objects, _, _}, {:objects, _, [{1, 1}, {2, 4}, {3, 9}]}, :current | changes] = events
      assert length(for {:changes, [change]} <- changes, do: change) == 10
      assert {{:deleted, table.id}, {:deleted, other.id}} == {Enum.at(changes, 10), Enum.at(changes, 11)}
      assert length(changes) == 12
    end

    test "are a stream that may be left" do
      table = filled(:set, 3)

      assert [{:objects, _, _}] =
               table |> Fyris.stream_changes(:all, from: :snapshot, active: true) |> Enum.take(1)

      Fyris.put!(table, 4, 4)
      refute_receive {:fyris, _, _, _}, 20
      assert_raise ArgumentError, fn -> Fyris.stream_changes(table, :all, to: self()) end
      assert_raise Fyris.Error, fn -> table |> Fyris.stream_changes({:range, 1, 2}) |> Enum.take(1) end
    end
  end
end
