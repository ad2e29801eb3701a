// Integers in Python's lists and tuples, and in NumPy's arrays, for the analyses of graphs.
#pragma once

#include "graph/order/rows.h"
#include "python/errors.h"

namespace ofl::python {

/// An argument of an analysis or an item of it, for errors: "[op] name[3][1]".
struct Place {
  Place item(int64_t index) const;
  std::string text() const;

  const char* op;
  const char* name;
  int depth = 0;
  int64_t indices[3] = {};
};

/// The items of a sequence, held in a tuple of their own; Error(type) for anything else.
Reference items_of(const Place& place, PyObject* sequence);
/// Error(type) unless it is an integer.
int64_t integer_of(const Place& place, PyObject* object);

/// Of a sequence of integers; None: none.
graph::Integers integers_of(const Place& place, PyObject* object);
/// Of a sequence of sequences; None: none.
graph::Rows rows_of(const Place& place, PyObject* object);

/// Records of integers, such as "(before, after)"; Error(value) for one of another length.
template <int length>
struct Record {
  int64_t fields[length];
};
void read_record(const Place& place, PyObject* object, const char* fields, int length, int64_t* to);

template <int length>
Record<length> record_of(const Place& place, PyObject* object, const char* fields) {
  Record<length> record;
  read_record(place, object, fields, length, record.fields);
  return record;
}

/// Calls `each(record, place)` for the records of a sequence; None: none.
template <int length, typename Each>
void for_records(const Place& place, PyObject* object, const char* fields, const Each& each) {
  if (object == Py_None) return;
  const Reference items = items_of(place, object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    const Place here = place.item(i);
    each(record_of<length>(here, PyTuple_GET_ITEM(items.get(), i), fields), here);
  }
}

/// Rows of what `each(record, place)` makes of the records.
template <typename T, int length, typename Each>
graph::RowsOf<T> record_rows(const Place& place, PyObject* object, const char* fields,
                             const Each& each) {
  graph::RowsOf<T> rows;
  if (object == Py_None) return rows;
  const Reference items = items_of(place, object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    for_records<length>(
        place.item(i), PyTuple_GET_ITEM(items.get(), i), fields,
        [&](const Record<length>& record, const Place& here) { rows.add(each(record, here)); });
    rows.end_row();
  }
  return rows;
}

graph::Edges edges_of(const char* op, PyObject* object);

/// A list with what `each(item)`, an owned object, is for every item.
template <typename Items, typename Each>
Reference list_of(const Items& items, const Each& each) {
  Reference list(checked(PyList_New(static_cast<Py_ssize_t>(items.size()))));
  Py_ssize_t i = 0;
  for (const auto& item : items) PyList_SET_ITEM(list.get(), i++, checked(each(item)));
  return list;
}

Reference list_of(const graph::Integers& integers);
Reference list_of(const graph::Rows& rows);
Reference list_of(const graph::Edges& edges);
/// Of the numbers of an enum.
template <typename Enum>
Reference list_of(const std::vector<Enum>& values) {
  return list_of(values, [](Enum value) { return PyLong_FromLong(static_cast<long>(value)); });
}

/// A tuple of these objects.
template <typename... References>
PyObject* tuple_of(References... references) {
  return checked(PyTuple_Pack(sizeof...(references), references.get()...));
}

}  // namespace ofl::python
