defmodule FyrisMatchSpecTest do
  use ExUnit.Case, async: true
  doctest Fyris.MatchSpec
  import Fyris.MatchSpec
  require Integer
  require Record

  defmodule Point do
    defstruct x: 0, y: %{}
  end

  Record.defrecordp(:user, name: "nobody", age: 0)
  defguardp is_adult(years) when is_integer(years) and years >= 18
  @limit {:at, 10}

  @objects [
             for(a <- [0, 1, 2, 3, 1.0, -4, 10, 41], b <- [0, 3, 2.5, :a, nil], do: {a, b}),
             for(a <- [:a, :b, nil, true, "jo", "joe", ~c"jo", [], {}], do: {a, {a, 1}}),
             for(
               map <- [%{}, %{a: 1}, %{a: 1, b: 2}, %{a: 2}, %{"k" => %{a: 1}}, %{1.0 => 1}, %{count: 7}],
               do: {{:map, map}, map}
             ),
             [
               {%{a: 1}, 1},
               {%{a: 1, b: 2}, 2},
               {:_, 1},
               {:"$1", 2},
               {:_, :"$1"},
               {:"$_", :"$$"},
               {[:_ | 1], 3}
             ],
             [
               {1, %{__struct__: Point, x: 1, y: %{}}},
               {2, %{__struct__: Point, x: 0, y: %{z: 1}}},
               {3, 1..3}
             ],
             [
               {1},
               {1, 2, 3},
               {1, 1, 1},
               {:user, "joe", 41},
               {:user, "ann", 17},
               {:user, :x},
               {:t, [1, 2, 3]}
             ],
             [{[1 | 2], 1}, {[a: 1], 2}, {[a: 1, b: 2], 3}, {:t, [3]}, {{1, {2, [3]}}, 4}, {@limit, 1}]
           ]
           |> Enum.concat()

  # Whether a match specification makes of objects what the function makes of them, one by one and in tables. Elixir has
  # no ^ in guards and bodies.
  defmacrop same({:fn, meta, clauses}) do
    plain = fn code -> Macro.prewalk(code, &with({:^, _, [inner]} <- &1, do: inner)) end

    native =
      for {:->, meta, [head, body]} <- clauses do
        head =
          case head do
            [{:when, meta, [head, guard]}] -> [{:when, meta, [head, plain.(guard)]}]
            head -> head
          end

        {:->, meta, [head, quote(do: [unquote(plain.(body))])]}
      end

    last = quote(generated: true, do: (_ -> []))

    quote generated: true do
      same(fun(unquote({:fn, meta, clauses})), unquote({:fn, [generated: true] ++ meta, native ++ last}))
    end
  end

  defp same(spec, native) do
    compiled = :fyris.match_spec_compile(spec)

    for object <- @objects do
      assert {object, spec, exact(:fyris.match_spec_run([object], compiled))} ==
               {object, spec, exact(made(native, object))}
    end

    for type <- [:set, :ordered_set, :duplicate_bag] do
      table = Enum.into(@objects, Fyris.new!(type: type))
      expected = Enum.flat_map(table, &made(native, &1))
      assert {type, spec, exact(Fyris.select!(table, spec))} == {type, spec, exact(expected)}
    end

    length(Enum.flat_map(@objects, &made(native, &1)))
  end

  # Of lists in any order, with 1 and 1.0 told apart.
  defp exact(results),
    do: results |> Enum.map(&failed/1) |> Enum.map(&:erlang.term_to_binary/1) |> Enum.sort()

  # A part of a body that fails is :EXIT.
  defp failed(result), do: if(inspect(result) =~ "EXIT", do: :EXIT, else: result)

  defp made(native, object) do
    native.(object)
  rescue
    _ in [ArithmeticError, ArgumentError, BadMapError, KeyError] -> [:EXIT]
  end

  test "heads match as those of functions do" do
    assert same(fn _ -> 1 end) == length(@objects)
    assert same(fn object -> object end) == length(@objects)
    assert same(fn {a, b} -> [a, b | a] end) > 50
    assert same(fn {a, a} -> a end) > 1
    assert same(fn {1, _} = object -> {object, elem(object, 1)} end) > 5
    assert same(fn object = {_, _, _} -> tuple_size(object) end) > 3
    assert same(fn {_, %{}} -> :map end) > 8
    assert same(fn {_, %{a: 1}} -> :a end) == 2
    assert same(fn {%{a: 1}, n} -> n end) == 2
    assert same(fn {1, %Point{}} -> 1 end) == 1
    assert same(fn {_, %Point{x: x, y: %{z: z}}} -> %Point{x: z, y: x} end) == 1
    assert same(fn {_, %{"k" => %{a: a}}} -> %{a => 1, "k" => a, 3 => nil} end) == 1
    assert same(fn {_, %{1.0 => one}} -> one end) == 1
    assert same(fn {[a: a], n} -> {a, n} end) == 1
    assert same(fn {[first | rest], n} -> {n, rest, first} end) > 3
    assert same(fn {{1, {two, [three]}}, -4} -> {two, three} end) == 0
    assert same(fn {{1, {two, [three]}}, _} -> {two, three} end) == 1
    assert same(fn {-4, +3} -> "negative" end) == 1
    assert same(fn {_, 1..3} -> 1.5 end) == 1
    assert same(fn {@limit, n} -> {n, @limit} end) == 1
    assert same(fn user(name: name, age: age) -> user(name: age, age: name) end) == 2
    assert same(fn {FyrisMatchSpecTest, _} -> __MODULE__ end) == 0
    assert same(fn {~c"jo", _} -> ~w(a b)a end) == 1

    assert same(fn
             {1, b} -> {:one, b}
             {a, b} when a == b -> :same
             {_, nil} -> nil
             user() = user -> user(user, :age)
           end) > 10
  end

  test "a pinned value is itself, whatever it is" do
    for value <- [
          1,
          1.0,
          :a,
          "jo",
          nil,
          %{},
          %{a: 1},
          %{a: 1, b: 2},
          :_,
          :"$1",
          :"$_",
          [:_ | 1],
          {:map, %{}},
          1..3
        ] do
      equal = &(exact([&1]) == exact([value]))

      assert same(fn {^value, b} -> b end) ==
               Enum.count(@objects, &(tuple_size(&1) == 2 and equal.(elem(&1, 0))))

      assert same(fn {_, ^value} -> ^value end) ==
               Enum.count(@objects, &(tuple_size(&1) == 2 and equal.(elem(&1, 1))))

      same(fn {a, b} when a == ^value or b === ^value -> {^value, a} end)
      same(fn {_, %{a: ^value, b: b}} -> b end)
      same(fn {^value, b} = object when b != 0 -> %{b => object} end)
      same(fn {a, _} when a in [1, ^value] -> a end)
    end

    [one, map] = [1, %{a: 1}]

    assert same(fn
             {^one, b} -> {:one, b}
             {^map, ^one} -> ^map
             {a, ^map} when a != ^one -> {a, ^map}
           end) == 8

    [key, name] = ["k", :a]
    assert same(fn {_, %{^key => %{^name => a}}} -> a end) == 1
    few = [1, :a, %{a: 1}]
    among = fn object -> for a <- [elem(object, 0)], tuple_size(object) == 2 and a in few, do: a end
    assert same(fun(fn {a, _} when a in ^few -> a end), among) == 8
    assert same(fun(fn {a, _} when a in ^[] -> a end), fn _ -> [] end) == 0

    assert fun(fn {^(1 + 1), a} -> ^String.length("joe") + a end) == [
             {{2, :"$1"}, [], [{:+, {:const, 3}, :"$1"}]}
           ]

    assert_raise ArgumentError, fn -> fun(fn {a} when a in ^key -> a end) end
  end

  test "guards and bodies compute as those of functions do" do
    same(fn {a, b} when a > 1 and b < 3 -> {a + b, a - b, a * b} end)
    same(fn {a, b} when a >= b or not is_integer(a) -> {-a, abs(b)} end)
    same(fn {a, b} when a <= 2 and a !== b and a != 3 -> a / b end)
    same(fn {a, b} when is_integer(a) and is_integer(b) -> {div(a, 2), rem(a, 2), round(b), trunc(b)} end)
    same(fn {a, b} when hd(a) == 1 when tuple_size(a) == 2 when b > 2 -> {a, b} end)
    same(fn {_, b} when is_map(b) and map_size(b) > 1 -> map_size(b) end)
    same(fn {_, b} when is_map_key(b, :a) -> b.a end)
    same(fn {_, b} when b.count > 3 -> b end)
    same(fn {_, b} when not is_atom(b) -> b.a end)
    same(fn {a, _} when is_nil(a) or is_boolean(a) -> a end)
    same(fn {a, _} when is_binary(a) and byte_size(a) > 2 -> binary_part(a, 1, 2) end)
    same(fn {a, b} when a in [1, 2, "jo"] and b not in 1..3 -> a end)
    same(fn {_, b} when is_struct(b) -> b.__struct__ end)
    same(fn {_, b} when is_struct(b, Point) -> b.x end)
    same(fn {a, _} when is_adult(a) -> a |> div(2) |> Kernel.+(1) end)
    same(fn {a, _} when Integer.is_odd(a) -> a end)
    same(fn {a, _} when Bitwise.band(a, 1) == 1 -> {Bitwise.bsl(a, 2), Bitwise.bnot(a)} end)
    same(fn {_, b} when length(b) == 3 -> {hd(b), tl(b), length(b)} end)
    same(fn {a, _} = object when elem(object, 1) == 3 -> elem(object, a) end)
    same(fn {a, _} when :erlang.andalso(is_list(a), :erlang."=/="(a, [])) -> :erlang.length(a) end)
    same(fn {a, _} when a === 1.0 -> {self(), node(), {}, [], "", "text", :"$1", :_, :"$_", ~c"list"} end)
    same(fn {_, b} -> %Point{x: b} end)

    same(fn {a, _} when is_function(a) or is_pid(a) or is_reference(a) or is_port(a) or is_bitstring(a) ->
      a
    end)
  end

  test "every function that can be said is one of :fyris" do
    for {name, arity} <- Fyris.MatchSpec.Functions.all() do
      call = List.to_tuple([name | List.duplicate(:"$1", arity)])
      assert {^call, {:ok, _}} = {call, :fyris.test_ms({1}, [{{:"$1"}, [], [call]}])}
    end
  end

  # What Erlang makes of a function.
  defp erlang(text) do
    {:ok, tokens, _} = :erl_scan.string(String.to_charlist("fyris:fun2ms(fun#{text} end)."))
    {:ok, [code]} = :erl_parse.parse_exprs(tokens)
    {:value, spec, _} = :erl_eval.expr(code, [])
    spec
  end

  test "is what fun2ms makes of the same function" do
    for {text, spec} <- [
          {"({K, V}) when V > 10 -> K", fun(fn {k, v} when v > 10 -> k end)},
          {"({K, V}) when V > 10; K =< 3 -> [K | V]", fun(fn {k, v} when v > 10 when k <= 3 -> [k | v] end)},
          {"({K, _} = O) -> {K, O}", fun(fn {k, _} = o -> {k, o} end)},
          {"(_) -> true", fun(fn _ -> true end)},
          {"({A, {B, [C | D]}, a, <<\"x\">>, 1.5}) -> {D, {C}, [B, A]}",
           fun(fn {a, {b, [c | d]}, :a, "x", 1.5} -> {d, {c}, [b, a]} end)},
          {"({A}) when A =:= 1 andalso A =/= 2 orelse not is_atom(A) -> A",
           fun(fn {a} when (a === 1 and a !== 2) or not is_atom(a) -> a end)},
          {"({A}) when A /= 2 -> (A band 3) bsl 1", fun(fn {a} when a != 2 -> (a &&& 3) <<< 1 end)},
          {"({A}) -> element(1, A) + size(A) * map_get(k, A)",
           fun(fn {a} -> elem(a, 0) + size(a) * :erlang.map_get(:k, a) end)},
          {"({A}) -> \#{a => A, 1 => [A, self()]}", fun(fn {a} -> %{:a => a, 1 => [a, self()]} end)},
          {"({A, A, _, B}) -> -B; ({_}) -> none",
           fun do
             {a, a, _, b} -> -b
             {_} -> :none
           end}
        ] do
      assert {text, spec} == {text, erlang(text)}
    end
  end

  test "works wherever a specification is taken" do
    table = Enum.into([{1, :a, 10}, {2, :b, 20}, {3, :a, 30}], Fyris.new!(type: :ordered_set))
    kind = :a
    assert Fyris.count!(table, fun(fn {_, ^kind, n} -> n > 10 end)) == 1
    assert Fyris.select_replace!(table, fun(fn {key, ^kind, n} -> {key, ^{:new, kind}, n * 2} end)) == 2
    assert Fyris.select_delete!(table, fun(fn {key, _, _} -> key == 2 end)) == 1

    assert table |> Fyris.stream_select(fun(fn {_, {:new, k}, n} -> {k, n} end)) |> Enum.to_list() == [
             a: 20,
             a: 60
           ]

    key = 3
    assert %{kind: :point} = Fyris.explain!(table, fun(fn {^key, _, n} -> n end))
    assert %{kind: :point} = Fyris.explain!(table, fun(fn {k, _, n} when k === ^key -> n end))
    wild = :_
    assert Fyris.select_delete!(table, fun(fn {^wild, _, _} -> true end)) == 0
  end

  test "what cannot be said is named" do
    for {code, named} <- [
          {"fn {a} -> String.length(a) end", "a match specification cannot say: String.length(a)"},
          {"fn {a} when a > 1 -> a; {b, c} when foo(b) -> c end", "cannot say: foo(b)"},
          {"fn {a} when foo(a) -> a end", "cannot say: foo(a)"},
          {"fn {a} -> a && 1 end", "cannot say: a && 1"},
          {"fn {a} -> if a, do: 1 end", "cannot say: if"},
          {"fn {a} -> a[:key] end", "cannot say: a[:key]"},
          {"fn {a} -> %{a | b: 1} end", "cannot say: %{a | b: 1}"},
          {"fn {a} -> \"x\" <> a end", "cannot say: \"x\" <> a"},
          {"fn {a} -> fn -> a end end", "cannot say: fn -> a end"},
          {"fn {a} when a in b -> a end", "cannot say: a in b"},
          {"fn {a} -> b end", "no variable of the head (with ^ it is the value in the surroundings): b"},
          {"fn {_} -> _ end", "no variable of the head"},
          {"fn {a} -> a; 1 end", "a body is one expression"},
          {"fn {\"jo\" <> a} -> a end", "the head of a match specification cannot say: \"jo\" <> a"},
          {"fn {<<a, _::binary>>} -> a end", "cannot say: <<a, _::binary>>"},
          {"fn {a, {_} = b} -> {a, b} end", "cannot say: {_} = b"},
          {"fn {:_, a} -> a end", "a head takes for a variable: :_"},
          {"fn {:\"$1\", a} -> a end", "a head takes for a variable: :\"$1\""},
          {"fn {%{a => 1}} -> a end", "a key of a map in a head is a value, not: a"},
          {"fn {%{_ => 1}} -> 1 end", "a key of a map in a head is a value, not: _"},
          {"fn {a} = a -> a end", "the object or a part of it, not both: a"},
          {"fn {_} = {a} -> a end", "a head is one tuple, not: {_} = {a}"},
          {"fn :a -> 1 end", "a head is a tuple or a variable, not: :a"},
          {"fn ^x -> 1 end", "a head is a tuple or a variable, not: ^x"},
          {"fn a, b -> a + b end", "a clause has one argument, the object"},
          {"fn -> 1 end", "a clause has one argument, the object"},
          {"fn {%URI{hots: h}} -> h end", "a field that the struct does not have"},
          {"fn {a} -> %URI{hots: a} end", "a field that the struct does not have"},
          {"fn {%a{}} -> a end", "no name of a struct"},
          {"&elem(&1, 0)", "fun takes fn ... end or do ... end, not: &elem(&1, 0)"},
          {"name", "fun takes fn ... end or do ... end, not: name"},
          {"do: 1", "a match specification has clauses, not: 1"}
        ] do
      error =
        assert_raise CompileError, fn ->
          Code.eval_string("import Fyris.MatchSpec\nx = 1\nfun(#{code})\nx", [], file: "shown.ex")
        end

      assert {code, Exception.message(error) =~ named, error.line} == {code, true, 3},
             Exception.message(error)
    end
  end
end
