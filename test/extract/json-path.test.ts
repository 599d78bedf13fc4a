import { expect, test } from 'vitest'
import { memberAt, parseMemberPath, placeBehind, rowIn } from '../../src/extract/json-path.ts'
import type { JsonValue } from '../../src/model/row.ts'

test.each<[string, readonly string[] | string]>([
  ['$.sentAt', ['sentAt']],
  ["$.meta['sent at'].day", ['meta', 'sent at', 'day']],
  ['$', '"$" must name a member'],
  ['$.a[*]', 'must lead to one value by names alone'],
  ['$.a[0]', 'may hold names of members and one [*] alone'],
  ['$..a', 'may hold names of members and one [*] alone'],
  ["$['a','b']", 'may hold names of members and one [*] alone'],
])('%s leads to %j', (text, expected) => {
  if (typeof expected === 'string') expect(() => parseMemberPath(text)).toThrow(expected)
  else expect(parseMemberPath(text)).toEqual(expected)
})

test.each<[JsonValue, readonly string[], JsonValue | undefined]>([
  [{ a: { b: 'x' } }, ['a', 'b'], 'x'],
  [{ a: { b: null } }, ['a', 'b'], null],
  [{ a: null }, ['a', 'b'], undefined],
  [{ a: ['b'] }, ['a', 'length'], undefined],
  [{ a: ['b'] }, ['a', '0'], undefined],
  [{ a: 'text' }, ['a', 'length'], undefined],
  [{ a: {} }, ['a', 'toString'], undefined],
  [['x'], [], ['x']],
])('%j has at %j the value %j', (value, names, found) => {
  expect(memberAt(value, names)).toEqual(found)
})

test.each<[JsonValue, readonly string[], JsonValue | undefined]>([
  [{ resource: { id: 'x' }, request: { method: 'PUT' } }, ['resource'], { id: 'x' }],
  [{ resource: { id: 'x' }, request: { method: 'DELETE' } }, ['resource'], undefined],
  [{ resource: { id: 'x' } }, ['resource', 'id'], 'x'],
  [{ request: { method: 'DELETE' } }, ['resource'], undefined],
  [{ visit: { id: 'x' }, request: { method: 'DELETE' } }, ['visit'], { id: 'x' }],
  [{ visit: { id: 'x' } }, [], { visit: { id: 'x' } }],
])('the row in %j at %j is %j', (element, within, row) => {
  expect(rowIn(element, within)).toEqual(row)
})

test.each([
  ['', { line: 3, column: 7 }],
  ['ab', { line: 3, column: 9 }],
  ['ab\n', { line: 4, column: 1 }],
  ['\n\nabc', { line: 5, column: 4 }],
  ['ü\nü', { line: 4, column: 3 }],
])('behind %j a place at line 3, column 7 is %j', (text, place) => {
  expect(placeBehind(Buffer.from(text), { line: 3, column: 7 })).toEqual(place)
})
