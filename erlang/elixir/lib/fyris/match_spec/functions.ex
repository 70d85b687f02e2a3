defmodule Fyris.MatchSpec.Functions do
  @moduledoc false
  # The functions of match specifications, by the names that they have in Elixir and in Erlang.

  @tests ~w(is_atom is_binary is_bitstring is_boolean is_float is_function is_integer is_list is_map is_number is_pid
    is_port is_reference is_tuple)a
  @of_one ~w(abs bit_size byte_size ceil float floor hd length map_size node not round size tl trunc tuple_size
    bnot + -)a
  @of_two ~w(div rem band bor bxor bsl bsr xor + - * / == < > >= max min element is_function map_get)a

  # Those that have one name.
  @both for(name <- @tests ++ @of_one, do: {name, 1}) ++
          for(name <- @of_two, do: {name, 2}) ++
          [node: 0, self: 0, binary_part: 3, is_integer: 3, is_record: 3]

  @erlang @both ++ for(name <- ~w(=:= =/= /= =< and or andalso orelse is_map_key)a, do: {name, 2})

  @renamed %{
    {:!=, 2} => :"/=",
    {:<=, 2} => :"=<",
    {:===, 2} => :"=:=",
    {:!==, 2} => :"=/=",
    {:and, 2} => :andalso,
    {:or, 2} => :orelse,
    {:&&&, 2} => :band,
    {:|||, 2} => :bor,
    {:<<<, 2} => :bsl,
    {:>>>, 2} => :bsr,
    {:"~~~", 1} => :bnot
  }

  @doc false
  # What a call of a function of `Kernel` or `Bitwise` is: the name and the arguments; `nil` if it cannot be said.
  def of_elixir(:elem, [tuple, position]) when is_integer(position), do: {:element, [position + 1, tuple]}
  def of_elixir(:elem, [tuple, position]), do: {:element, [{:+, [], [position, 1]}, tuple]}
  def of_elixir(:is_map_key, [map, key]), do: {:is_map_key, [key, map]}

  def of_elixir(name, args) do
    cond do
      renamed = @renamed[{name, length(args)}] -> {renamed, args}
      {name, length(args)} in @both -> {name, args}
      true -> nil
    end
  end

  @doc false
  # The same of a function of `:erlang`.
  def of_erlang(name, args), do: if({name, length(args)} in @erlang, do: {name, args})

  @doc false
  # All of them, for tests.
  def all, do: @erlang
end
