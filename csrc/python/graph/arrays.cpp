#include "python/graph/arrays.h"

namespace ofl::python {

Place Place::item(int64_t index) const {
  Place place = *this;
  place.indices[place.depth++] = index;
  return place;
}

std::string Place::text() const {
  std::string text = concat("[", op, "] ", name);
  for (int i = 0; i < depth; ++i) text += concat("[", indices[i], "]");
  return text;
}

Reference items_of(const Place& place, PyObject* sequence) {
  if (!PySequence_Check(sequence) || PyUnicode_Check(sequence)) {
    fail(ErrorKind::type, place.text(), ": expected a sequence of integers, got ",
         Py_TYPE(sequence)->tp_name);
  }
  return Reference(checked(PySequence_Tuple(sequence)));
}

int64_t integer_of(const Place& place, PyObject* object) {
  if (!PyIndex_Check(object)) {
    fail(ErrorKind::type, place.text(), ": expected an integer, got ", Py_TYPE(object)->tp_name);
  }
  const Reference exact(checked(PyNumber_Index(object)));
  int overflow;
  const long long value = PyLong_AsLongLongAndOverflow(exact.get(), &overflow);
  if (overflow) fail(ErrorKind::overflow, place.text(), ": expected an integer of 64 bits");
  return value;
}

graph::Integers integers_of(const Place& place, PyObject* object) {
  graph::Integers found;
  if (object == Py_None) return found;
  const Reference items = items_of(place, object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    found.push_back(integer_of(place.item(i), PyTuple_GET_ITEM(items.get(), i)));
  }
  return found;
}

graph::Rows rows_of(const Place& place, PyObject* object) {
  graph::Rows rows;
  if (object == Py_None) return rows;
  const Reference items = items_of(place, object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    const Place row = place.item(i);
    const Reference inner = items_of(row, PyTuple_GET_ITEM(items.get(), i));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(inner.get()); ++k) {
      rows.add(integer_of(row.item(k), PyTuple_GET_ITEM(inner.get(), k)));
    }
    rows.end_row();
  }
  return rows;
}

void read_record(const Place& place, PyObject* object, const char* fields, int length,
                 int64_t* to) {
  const Reference items = items_of(place, object);
  const Py_ssize_t given = PyTuple_GET_SIZE(items.get());
  if (given != length) {
    fail(ErrorKind::value, place.text(), ": expected ", fields, ", got ", given, " items");
  }
  for (int i = 0; i < length; ++i) {
    to[i] = integer_of(place, PyTuple_GET_ITEM(items.get(), i));
  }
}

graph::Edges edges_of(const char* op, PyObject* object) {
  graph::Edges edges;
  for_records<2>({op, "edges"}, object, "(before, after)",
                 [&](const Record<2>& record, const Place&) {
                   edges.push_back({record.fields[0], record.fields[1]});
                 });
  return edges;
}

namespace {

PyObject* integer(int64_t value) { return PyLong_FromLongLong(value); }

}  // namespace

Reference list_of(const graph::Integers& integers) { return list_of(integers, integer); }

Reference list_of(const graph::Rows& rows) {
  Reference list(checked(PyList_New(rows.count())));
  for (int64_t i = 0; i < rows.count(); ++i) {
    PyList_SET_ITEM(list.get(), i, list_of(rows[i], integer).release());
  }
  return list;
}

Reference list_of(const graph::Edges& edges) {
  return list_of(edges, [](const graph::Edge& edge) {
    const Reference before(checked(integer(edge.before))), after(checked(integer(edge.after)));
    return PyTuple_Pack(2, before.get(), after.get());
  });
}

}  // namespace ofl::python
