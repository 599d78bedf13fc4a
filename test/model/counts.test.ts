import { describe, expect, it } from 'vitest'
import {
  addCounts,
  balanceWords,
  countLeftOut,
  isBalanced,
  kindsShown,
  leftOutCounts,
  noCounts,
  noPeople,
  OTHER_CODES,
  readCounts,
  warningCounts,
} from '../../src/model/balance.ts'
import { isCellError } from '../../src/model/cell-fault.ts'
import {
  allDone,
  codeOf,
  describePlace,
  filesExhausted,
  isDiskFull,
  typedAgain,
  WaybillError,
} from '../../src/model/errors.ts'
import { ORIGIN } from '../transform/mapping-under-test.ts'

describe('kinds in a table', () => {
  const shown = (...made: ('biometric' | 'condition' | 'medicalRecords' | 'assessment' | 'account')[]) => {
    const counts = noCounts()
    for (const kind of made) counts.records[kind].made = 1
    return kindsShown(counts)
  }
  it('are those that were made, and all of a profile where one of them was', () => {
    expect(shown()).toEqual([])
    expect(shown('condition')).toEqual(['biometric', 'condition', 'careTeam'])
    expect(shown('account')).toEqual(['account'])
    expect(shown('medicalRecords', 'biometric')).toEqual([
      'biometric',
      'condition',
      'careTeam',
      'medicalRecords',
    ])
    expect(shown('assessment', 'account')).toEqual(['assessment', 'account'])
  })
})

const PEOPLE = ['collected', 'unchanged', 'none', 'refused', 'pending'] as const

describe('people of a run that collects', () => {
  it.each(PEOPLE)('have one outcome each: %s', (outcome) => {
    const people = { ...noPeople(), asked: 2, [outcome]: 2 }
    expect(isBalanced({ ...noCounts(), people })).toBe(true)
    expect(isBalanced({ ...noCounts(), people: { ...people, asked: 3 } })).toBe(false)
    expect(isBalanced({ ...noCounts(), people: { ...people, [outcome]: 3 } })).toBe(false)
  })
  it('are added where there are some', () => {
    const people = { asked: 15, collected: 1, unchanged: 2, none: 3, refused: 4, pending: 5 }
    const total = noCounts()
    addCounts(total, noCounts())
    expect(total.people).toBeUndefined()
    addCounts(total, { ...noCounts(), people })
    expect(total.people).toEqual(people)
    addCounts(total, { ...noCounts(), people })
    expect(total.people).toEqual({ asked: 30, collected: 2, unchanged: 4, none: 6, refused: 8, pending: 10 })
    expect(readCounts(JSON.stringify(total))).toEqual(total)
  })
})

describe('counts in the ledger', () => {
  it('are none where a run has none yet', () => {
    expect(readCounts(null)).toEqual(noCounts())
  })
  it('of an earlier version have no reasons and fewer kinds', () => {
    const { rows, records, warnings } = noCounts()
    const { account: _, ...fewer } = records
    expect(readCounts(JSON.stringify({ rows, records: fewer, warnings }))).toEqual(noCounts())
  })
})

describe('what is left out', () => {
  const row = (...leftOut: string[]) =>
    ({ ...ORIGIN, outcome: 'skipped', reason: 'nothing-kept', leftOut, warnings: [] }) as const

  it('is counted by reason, the most frequent first', () => {
    const counts = noCounts()
    countLeftOut(counts, row('a', 'b', 'b'))
    countLeftOut(counts, row('c', 'b', 'c'))
    expect(leftOutCounts(counts)).toEqual([
      { code: 'b', count: 3 },
      { code: 'c', count: 2 },
      { code: 'a', count: 1 },
    ])
    expect(warningCounts({ warnings: { x: 1, y: 2 } })).toEqual([
      { code: 'y', count: 2 },
      { code: 'x', count: 1 },
    ])
  })

  it('has 200 reasons, and the others together', () => {
    const counts = noCounts()
    const reasons = Array.from({ length: 202 }, (_, at) => `code ${at}`)
    countLeftOut(counts, row(...reasons, 'code 0'))
    expect(Object.keys(counts.leftOut)).toEqual([...reasons.slice(0, 200), OTHER_CODES])
    expect([counts.leftOut['code 0'], counts.leftOut['code 199'], counts.leftOut[OTHER_CODES]]).toEqual([
      2, 1, 2,
    ])
    const total = noCounts()
    addCounts(total, counts)
    addCounts(total, counts)
    expect([total.leftOut['code 0'], total.leftOut[OTHER_CODES]]).toEqual([4, 4])
  })
})

it('says whether a run balances, and how far', () => {
  expect(balanceWords({ balanced: false, soFar: true })).toMatch(/^NOT BALANCED/)
  expect(balanceWords({ balanced: true, soFar: true })).toMatch(/^Balanced so far/)
  expect(balanceWords({ balanced: true })).toMatch(/^Balanced: every row/)
})

describe('an error', () => {
  it.each([
    [{ file: 'f', line: 1, column: 2, key: 'k' }, 'f:1:2 k'],
    [{ file: 'f', line: 1 }, 'f:1'],
    [{ file: 'f', key: '' }, 'f'],
    [{ key: 'WAYBILL_HOME' }, 'WAYBILL_HOME'],
    [{}, ''],
  ])('has a place: %j', (place, text) => {
    expect(describePlace(place)).toBe(text)
  })

  it.each([
    ['ENOSPC', true],
    ['EDQUOT', true],
    ['EACCES', false],
  ])('of the file system is one of a full disk: %s %s', (code, isFull) => {
    expect(isDiskFull(Object.assign(new Error('x'), { code }))).toBe(isFull)
  })
  it('of SQLite is one of a full disk: 13', () => {
    // sqlite.org/rescode.html: 13 is SQLITE_FULL.
    expect([12, 13, 14].map((errcode) => isDiskFull(Object.assign(new Error('x'), { errcode })))).toEqual([
      false,
      true,
      false,
    ])
    expect(isDiskFull({ errcode: 13 })).toBe(false)
  })

  it.each([
    [Object.assign(new Error('x'), { code: 'EACCES' }), 'EACCES'],
    [Object.assign(new TypeError('x'), { code: 7 }), 'TypeError'],
    [Object.assign(new TypeError('x'), { code: 'Ann Person' }), 'TypeError'],
    [Object.assign(new Error('x'), { code: `E${'x'.repeat(60)}` }), `E${'x'.repeat(60)}`],
    [Object.assign(new Error('x'), { code: `E${'x'.repeat(61)}` }), 'Error'],
    ['a text', 'string'],
  ])('is named by code or name, never by its words: %s', (error, code) => {
    expect(codeOf(error)).toBe(code)
  })

  it.each([
    ['EMFILE', 'this process may open no more files (EMFILE)'],
    ['ENFILE', 'this machine may open no more files (ENFILE)'],
    ['EACCES', undefined],
  ])('of the system says that no more files can be opened, behind whatever error: %s', (code, message) => {
    const own = Object.assign(new Error('x'), { code })
    for (const error of [
      own,
      new TypeError('y', { cause: own }),
      new WaybillError('job-invalid', 'z', { cause: own }),
    ])
      expect(filesExhausted(error)?.message).toBe(message)
    const told = new WaybillError('files-exhausted', 'told before')
    expect(filesExhausted(new Error('y', { cause: told }))).toBe(told)
  })

  it('keeps its findings and its place under another remedy', () => {
    const place = { file: 'f', line: 3 }
    const findings = [{ place, message: 'm' }]
    const one = new WaybillError('interrupted', 'words', { place, findings })
    expect(typedAgain(one, 'waybill x')).toMatchObject({ findings, place, cause: one, exit: 130 })
  })

  it('of one task is thrown when all have ended', async () => {
    const ended: string[] = []
    const late = Promise.resolve().then(() => Promise.resolve().then(() => ended.push('late')))
    await expect(allDone([Promise.reject(new Error('first')), late])).rejects.toThrow('first')
    expect(ended).toEqual(['late'])
    expect(await allDone([Promise.resolve(1), Promise.resolve(2)])).toEqual([1, 2])
  })
})

it.each(['#N/A', '#DIV/0!', '#NAME?', '#PYTHON!'])('%s is an error of a formula', (text) => {
  expect([text, ` ${text}`, `${text}x`].map(isCellError)).toEqual([true, false, false])
})
