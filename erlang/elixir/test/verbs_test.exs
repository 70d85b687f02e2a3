defmodule FyrisVerbsTest do
  # What `Fyris` has as `:fyris` has it.
  use ExUnit.Case, async: true

  defp filled(type, n) do
    table = Fyris.new!(type: type)
    :ok = Fyris.insert!(table, for(i <- 1..n//1, do: {i, i * i}))
    table
  end

  describe "tables of Fyris and :fyris" do
    test "are not taken for each other in silence" do
      table = filled(:ordered_set, 1)

      for {place, call} <- [
            {1, fn -> :fyris.lookup(table, 1) end},
            {1, fn -> :fyris.info(table) end},
            {1, fn -> :fyris.select(table, [], 10) end},
            {1, fn -> :fyris.table(table, []) end},
            {1, fn -> :fyris.snapshot([table.id, table]) end},
            {1, fn -> :fyris.subscribe([table], :all) end},
            {1, fn -> :fyris.write_batch([{:insert, table.id, {1, 1}}, {:insert, table, {1, 1}}]) end},
            {1, fn -> :fyris.lookup_by(table, :name, 1) end},
            {3, fn -> :fyris.foldl(fn _, n -> n end, 0, table) end},
            {2, fn -> :fyris.transaction(&:fyris.within(&1, table)) |> elem(1) |> reraised() end}
          ] do
        assert {place, told(call)[place] =~ "Fyris.Table.id/1"} == {place, true}
      end

      assert %{1 => text} = told(fn -> :fyris.lookup(%{}, 1) end)
      assert text == "not a valid table identifier"
      assert %{1 => _} = told(fn -> :fyris.lookup(:no_such_table, table) end)
    end

    # What :fyris says of an error.
    defp told(call) do
      call.()
      :no_error
    rescue
      _ in [ArgumentError, ErlangError] -> :fyris.format_error(:badarg, __STACKTRACE__)
    end

    defp reraised({reason, stack}), do: :erlang.raise(:error, reason, stack)
  end

  @tens [{{:"$1", :"$2"}, [{:==, {:rem, :"$1", 10}, 0}], [:"$2"]}]

  test "queries with a limit, and as streams" do
    for type <- [:set, :ordered_set, :bag, :duplicate_bag] do
      table = filled(type, 12_345)
      all = Fyris.select!(table, @tens)
      assert length(all) == 1_234

      for limit <- [1, 499, 500, 501, 1_000, 1_234, 5_000] do
        found = Fyris.select!(table, @tens, limit: limit)
        assert length(found) == min(limit, 1_234)
        assert found -- all == []
        assert table |> Fyris.match!({:"$1", :_}, limit: limit) |> Enum.uniq() |> length() == limit
        assert table |> Fyris.match_object!(:_, limit: limit) |> Enum.uniq() |> length() == limit
      end

      for options <- [[], [chunk: 7], [chunk: 10_000], [reverse: true, chunk: 3]] do
        assert table |> Fyris.stream_select(@tens, options) |> Enum.sort() == Enum.sort(all)
        limited = table |> Fyris.stream_select(@tens, [limit: 13] ++ options) |> Enum.uniq()
        assert length(limited) == 13
      end

      assert table |> Fyris.stream_match({:"$1", 49}) |> Enum.to_list() == [[7]]
      assert table |> Fyris.stream_match_object({:_, 49}, chunk: 1) |> Enum.to_list() == [{7, 49}]
      assert :fyris.info(table.id, :fixed) == false
    end

    table = filled(:ordered_set, 3_000)
    assert Fyris.select!(table, @tens, limit: 2, reverse: true) == [9_000_000, 2_990 * 2_990]
    assert Fyris.select!(table, @tens, reverse: true) == Enum.reverse(Fyris.select!(table, @tens))
    assert Fyris.match!(table, {:"$2", :"$1"}, limit: 2) == [[1, 1], [4, 2]]
    # Nothing is read before it is asked for; what is read is of one moment.
    stream = Fyris.stream_select(table, [{{:"$1", :_}, [], [:"$1"]}], chunk: 10)
    Fyris.delete!(table, 1)

    seen = stream |> Stream.each(&Fyris.delete!(table, &1 + 1)) |> Enum.to_list()
    assert seen == Enum.to_list(2..3_000)
  end

  test "wrong options of queries" do
    table = filled(:ordered_set, 3)

    for options <- [[limt: 1], [limit: 1, limit: 2], [chunk: 3], [reverse: 1], [revers: true]] do
      assert_raise ArgumentError, fn -> Fyris.select(table, @tens, options) end
      assert_raise ArgumentError, fn -> Fyris.match(table, :_, [reverse: false] ++ options) end
      assert_raise ArgumentError, fn -> Fyris.match_object!(table, :_, [reverse: false] ++ options) end
    end

    for limit <- [0, -1, nil, :all, 1.0], query <- [:select, :match, :match_object] do
      assert {:error, %Fyris.Error{function: ^query} = error} =
               apply(Fyris, query, [table, [], [limit: limit]])

      assert Exception.message(error) =~ "not a positive integer"
    end

    for options <- [[limit: 0], [chunk: 0], [chunk: nil], [limit: :all], [chunk: 1.5], [chunks: 5]],
        stream <- [&Fyris.stream_select/3, &Fyris.stream_match/3, &Fyris.stream_match_object/3] do
      assert_raise ArgumentError, fn -> stream.(table, [], options) end
    end

    assert_raise ArgumentError, fn -> Fyris.stream_select(table, @tens, reverse: :yes) end
    assert_raise ArgumentError, fn -> Fyris.stream_match(table, :_, reverse: true) end
    assert_raise ArgumentError, fn -> :no_such_table |> Fyris.stream_select(@tens) |> Enum.to_list() end
    assert {:error, %Fyris.Error{function: :select}} = Fyris.select(table, :nonsense, limit: 1)
  end

  test "queries that change objects" do
    table = filled(:ordered_set, 1_000)
    assert Fyris.select_delete(table, [{{:"$1", :_}, [{:>, :"$1", 3}], [true]}]) == {:ok, 997}
    assert Fyris.select_replace(table, [{{:"$1", :"$2"}, [], [{{:"$1", {:-, :"$2"}}}]}]) == {:ok, 3}
    assert Enum.to_list(table) == [{1, -1}, {2, -4}, {3, -9}]
    assert {:error, %Fyris.Error{}} = Fyris.select_replace(table, [{{:_, :"$2"}, [], [{{7, :"$2"}}]}])
    assert Fyris.match_delete(table, {:_, -4}) == :ok
    assert Fyris.delete_object(table, {1, 1}) == :ok
    assert Fyris.delete_object!(table, {3, -9}) == :ok
    assert Enum.to_list(table) == [{1, -1}]
    assert {:error, %Fyris.Error{function: :delete_object}} = Fyris.delete_object(table, :joe)
    assert Fyris.delete_range(table, above: 0, to: 1) == {:ok, 1}
    assert_raise ArgumentError, fn -> Fyris.delete_range(table, limit: 1) end
  end

  test "from key to key" do
    for type <- [:set, :ordered_set, :bag, :duplicate_bag] do
      table = Fyris.new!(type: type)
      assert {Fyris.first(table), Fyris.last!(table)} == {{:ok, nil}, nil}
      Fyris.insert!(table, for(key <- 1..700, do: {key}))
      Fyris.insert!(table, for(n <- 1..1_700, do: {3, n}))
      Fyris.insert!(table, for(n <- 1..300, do: {rem(n, 5), :more, n}))
      keys = Enum.to_list(Fyris.keys(table))
      assert Enum.sort(keys) == Enum.to_list(0..700)
      steps = Stream.iterate(Fyris.first!(table), &Fyris.next!(table, &1))
      assert Enum.take_while(steps, & &1) == keys
      assert table |> Fyris.keys() |> Enum.take(2) |> length() == 2
    end

    table = filled(:ordered_set, 3)

    assert {Fyris.next(table, 3), Fyris.prev(table, 1), Fyris.prev!(table, 7)} ==
             {{:ok, nil}, {:ok, nil}, 3}

    assert {:error, %Fyris.Error{}} = Fyris.next(filled(:set, 3), 7)
    assert_raise ArgumentError, fn -> :no_such_table |> Fyris.keys() |> Enum.to_list() end
    keys = Fyris.keys(table)
    Fyris.put!(table, 4, 16)
    assert Enum.to_list(keys) == [1, 2, 3, 4]
    second = Fyris.new!(keypos: 2)
    Fyris.insert!(second, {1, :a})
    assert Enum.to_list(Fyris.keys(second)) == [:a]
  end

  test "elements and new pairs" do
    table = Fyris.new!()
    assert Fyris.put_new(table, :joe, 1) == {:ok, true}
    assert Fyris.put_new(table, :joe, 2) == {:ok, false}
    assert Fyris.lookup_element(table, :joe, 2) == {:ok, 1}
    assert {:error, %Fyris.Error{} = error} = Fyris.lookup_element(table, :ann, 2)
    assert Exception.message(error) =~ "no object has this key"
    assert Fyris.lookup_element(table, :ann, 2, nil) == {:ok, nil}
    assert {:error, %Fyris.Error{}} = Fyris.lookup_element(table, :joe, 3, nil)
    assert Fyris.update_element(table, :joe, {2, 5}) == {:ok, true}
    assert Fyris.update_element!(table, :ann, {2, 5}) == false
    assert Fyris.update_element!(table, :ann, [{2, 5}, {3, 6}], {:any, 0, 0}) == true
    assert Enum.sort(table) == [{:joe, 5}, {:ann, 5, 6}]
    assert {:error, %Fyris.Error{}} = Fyris.update_element(table, :joe, [{2, 6}, {1, :bob}])
    assert Fyris.get(table, :joe) == 5

    second = Fyris.new!(keypos: 2)
    assert {Fyris.put_new!(second, :joe, 1), Fyris.put_new!(second, :joe, 2)} == {true, false}
    assert Enum.to_list(second) == [{1, :joe}]
    bag = Fyris.new!(type: :bag)
    Fyris.insert!(bag, [{:joe, 1}, {:joe, 2}])
    assert Fyris.lookup_element!(bag, :joe, 2) == [1, 2]
    assert {:error, %Fyris.Error{reason: :badarg} = error} = Fyris.put_new(bag, :ann, 3)
    assert Exception.message(error) =~ "put_new does not work on a bag"
    assert {:error, %Fyris.Error{}} = Fyris.put_new(Fyris.new!(keypos: 3), :joe, 1)
    assert {:error, %Fyris.Error{details: %{1 => _}}} = Fyris.put_new(:no_such_table, :joe, 1)
    assert Enum.count(bag) == 2
  end

  test "on snapshots and in transactions" do
    table = filled(:set, 1_000)
    snapshot = Fyris.snapshot!(table)
    Fyris.clear!(table)
    assert snapshot |> Fyris.keys() |> Enum.sum() == 500_500
    assert snapshot |> Fyris.stream_select(@tens, chunk: 7) |> Enum.count() == 100
    assert snapshot |> Fyris.select!(@tens, limit: 70) |> length() == 70
    assert Fyris.lookup_element!(snapshot, 3, 2) == 9
    assert {:error, %Fyris.Error{}} = Fyris.put_new(snapshot, 2_000, 1)

    assert {:ok, [true, false, true]} =
             Fyris.transaction(fn tx ->
               within = Fyris.within!(tx, table)
               put = [Fyris.put_new!(within, 1, :one), Fyris.put_new!(within, 1, :uno)]
               assert Enum.to_list(Fyris.keys(within)) == [1]
               assert within |> Fyris.stream_match({:"$1", :"$2"}) |> Enum.to_list() == [[1, :one]]
               assert Fyris.select_delete!(within, [{{1, :_}, [], [true]}]) == 1
               assert Fyris.first!(within) == nil
               put ++ [Fyris.put_new!(within, 2, :two)]
             end)

    assert Enum.to_list(table) == [{2, :two}]
  end

  test "names and memory" do
    table = Fyris.new!(name: :fyris_test_before)
    Fyris.put!(table, 1, 1)
    table = Fyris.rename!(table, :fyris_test_after)
    assert {Fyris.Table.id(table), Fyris.get(:fyris_test_after, 1)} == {:fyris_test_after, 1}
    assert {:error, %Fyris.Error{}} = Fyris.rename(table, "after")
    unnamed = Fyris.new!()
    assert Fyris.rename(unnamed, :fyris_test_shown) == {:ok, unnamed}
    assert Fyris.info(unnamed)[:name] == :fyris_test_shown
    assert Fyris.memory(table) == Fyris.info(table)[:memory] * 8
    assert Fyris.memory(:no_such_table) == nil
    assert [total: _, objects: _, indexes: _] = Fyris.memory()
  end

  test "files" do
    folder = Path.join(System.tmp_dir!(), "fyris_verbs_#{System.pid()}")
    File.mkdir!(folder)
    on_exit(fn -> File.rm_rf!(folder) end)
    path = Path.join(folder, "fyris \u00e9.tab")
    table = filled(:ordered_set, 1_000)
    assert Fyris.save(table, path, extended_info: [:object_count, :md5sum], sync: true) == :ok
    assert Enum.to_list(Fyris.load!(path, verify: true)) == Enum.to_list(table)
    assert {:ok, ets} = :ets.file2tab(String.to_charlist(path), verify: true)
    assert :ets.info(ets, :size) == 1_000
    written = File.read!(path)

    for options <- [[fast: true], [sync: true, sync: false], [:sync]] do
      assert_raise ArgumentError, fn -> Fyris.save(table, path, options) end
    end

    for options <- [[sync: 1], [extended_info: [:size]], [extended_info: :md5sum]] do
      assert {:error, %Fyris.Error{function: :tab2file}} = Fyris.save(table, path, options)
    end

    assert File.read!(path) == written
    assert File.ls!(folder) == ["fyris \u00e9.tab"]
    assert {:error, %Fyris.Error{reason: :badtab}} = Fyris.save(:no_such_table, path)
    assert {:error, %Fyris.Error{}} = Fyris.save(table, Path.join(folder, "no/such"))
    assert_raise ArgumentError, fn -> Fyris.load(path, verfy: true) end
    assert {:error, %Fyris.Error{}} = Fyris.load(path, verify: 1)
    File.write!(path, binary_part(written, 0, 9_000))
    assert {:error, %Fyris.Error{} = error} = Fyris.load(path, verify: true)
    assert Exception.message(error) =~ "in :fyris.file2tab/2"
    assert_raise Fyris.Error, ~r/read_error/, fn -> Fyris.load!(Path.join(folder, "none")) end
  end
end
