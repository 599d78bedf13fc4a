import { expect, test } from 'vitest'
import { edited, KINDS, mistakesOf } from './kinds.ts'

/** The forms that a source could have by each mistake drawn from it. */
const CASES: readonly (readonly [kind: string, source: string, mistaken: readonly string[]])[] = [
  ['negated condition', 'if (a) b()', ['if (!(a)) b()']],
  ['negated condition', 'const x = a > 1 ? b : c', ['const x = !(a > 1) ? b : c']],
  ['other comparison', 'const x = a < b', ['const x = a <= b']],
  ['other comparison', 'const x = (a) >= (b)', ['const x = (a) > (b)']],
  ['other comparison', 'f(a === b)', ['f(a !== b)']],
  ['other comparison', 'if (a === b) c()', []],
  ['and for or', 'f((a && b) || c)', ['f((a && b) && c)', 'f((a || b) || c)']],
  ['and for or', 'f(a ?? b)', []],
  ['swapped operands', 'f(a.x - b[1])', ['f(b[1] - a.x)']],
  ['swapped operands', 'Math.abs(a - b)', []],
  ['swapped arguments', 'f(a, b, () => 1)', ['f(b, a, () => 1)']],
  ['swapped arguments', 'f(a, a)', []],
  ['swapped arguments', 'Math.max(a, b)', []],
  ['swapped arguments', "textsSent('a', 'b')", []],
  ['dropped await', 'async () => { await f(a) }', ['async () => { void f(a) }']],
  ['early return', 'function f() { a(); b() }', ['function f() { a(); return;b() }']],
  ['early return', 'function f() { a(); return b }', []],
  ['emptied list', 'f([a, b])', ['f([])']],
  ['emptied list', 'const [a] = b', []],
  [
    'removed statement',
    'a(); if (b) throw d; else c()',
    ['{} if (b) throw d; else c()', 'a(); if (b) throw d; else {}'],
  ],
  ['removed statement', 'for (const a of b) { if (a) continue }', ['for (const a of b) { {} }']],
  ['other constant', 'const WAIT_MS = 5', ['const WAIT_MS = 6', 'const WAIT_MS = 300']],
  ['other constant', 'f(2_000)', ['f(2001)', 'f(2)']],
  ['other constant', 'type A = 1 | 2', []],
  ['dropped member', 'f({ ...a, b, c })', ['f({ b, c })', 'f({ ...a, c })', 'f({ ...a, b })']],
  ['dropped member', 'f({ ...a, })', ['f({  })']],
  ['dropped member', 'f({ a, b })', []],
  ['other method', 'a.some(b)', ['a.every(b)']],
  ['other method', 'a.toString()', []],
  [
    'other query',
    'f(`select a from b where c = ? and d is null`)',
    [
      'f(`select a from b where c = ? or d is null`)',
      'f(`select a from b where c <> ? and d is null`)',
      'f(`select a from b where c = ? and d is not null`)',
    ],
  ],
  [
    'dropped step',
    "db.selectFrom(a).where(b, '=', c).limit(1).execute()",
    ["db.selectFrom(a).where(b, '=', c).execute()", 'db.selectFrom(a).limit(1).execute()'],
  ],
  ['dropped step', 'f(a.filter(b).map(c))', ['f(a.map(c))']],
  ['dropped step', 'sort(a)', []],
]

test.each(CASES)('%s: %s', (kind, source, mistaken) => {
  const own = mistakesOf(source).filter((mistake) => mistake.kind === kind)
  expect(own.map((mistake) => edited(source, [mistake]))).toEqual(mistaken)
})

test('every kind has a case', () => {
  expect(new Set(CASES.filter(([, , some]) => some.length > 0).map(([kind]) => kind))).toEqual(
    new Set(Object.keys(KINDS)),
  )
})
