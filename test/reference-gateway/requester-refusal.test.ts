import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  bareBody,
  fieldFault,
  filterFault,
  itemFault,
  placeOf,
  searchFault,
  wrappedBody,
} from '../../src/reference-gateway/refusal.ts'

describe('section "Errors", the bodies of a refusal', () => {
  const faults = [
    { code: 0, message: 'first' },
    { code: 1, message: 'second' },
  ] as const

  it('has the inner envelope as text behind the failure phrase, and the same text in its item', () => {
    const message =
      'Failed to do it: {"code":400,"message":"400 BAD REQUEST","errors":[{"code":0,"message":"first"},{"code":1,"message":"second"}]}'
    expect(wrappedBody('Failed to do it', faults)).toEqual({
      code: 400,
      message,
      errors: [{ code: 400, message, exception: null }],
    })
  })

  it('in the bare form has code, message and errors alone', () => {
    expect(bareBody(faults)).toEqual({ code: 400, message: 'first', errors: faults })
  })
})

/** The first issue of a value that a schema refuses. */
function issueOf(schema: z.ZodType, value: unknown) {
  const [issue] = schema.safeParse(value, { reportInput: true }).error?.issues ?? []
  if (issue === undefined) throw new Error('the schema takes the value')
  return issue
}

const Item = z.object({
  referenceNumber: z.string().min(1),
  patient: z.object({ firstName: z.string().min(1), dates: z.object({ start: z.iso.date() }).optional() }),
})
const good = { referenceNumber: 'r', patient: { firstName: 'f' } }

describe('the words for what is wrong', () => {
  it.each([
    [
      'item',
      { ...good, patient: { firstName: '' } },
      0,
      'the patient firstName is null or empty in the patient block of request 2 of 3',
    ],
    [
      'item',
      { ...good, patient: {} },
      0,
      'the patient firstName is null or empty in the patient block of request 2 of 3',
    ],
    [
      'item',
      { ...good, patient: { firstName: 7 } },
      1,
      'the patient firstName cannot be used (Invalid input: expected string, received number) in the patient block of request 2 of 3',
    ],
    [
      'item',
      { ...good, patient: { firstName: 'f', dates: { start: 'secret' } } },
      1,
      'the patient dates.start cannot be used (Invalid ISO date) in the patient block of request 2 of 3',
    ],
    ['block', { referenceNumber: 'r' }, 0, 'the patient block of request 2 of 3 is missing'],
    ['block', { ...good, patient: null }, 0, 'the patient block of request 2 of 3 is missing'],
    [
      'item',
      { ...good, patient: 'secret' },
      1,
      'the patient block of request 2 of 3 cannot be used (Invalid input: expected object, received string)',
    ],
    ['item', { ...good, referenceNumber: null }, 0, 'the referenceNumber of request 2 of 3 is null or empty'],
    ['item', null, 0, 'request 2 of 3 is null or empty'],
    ['item', ['secret'], 1, 'request 2 of 3 cannot be used (Invalid input: expected object, received array)'],
  ])('an %s: %j', (kind, value, code, message) => {
    const missing = kind === 'block' ? { missingBlock: true } : {}
    expect(itemFault(issueOf(Item, value), placeOf('request', 1, 3))).toEqual({ code, message, ...missing })
  })

  it('a search without a usable patient field', () => {
    const place = placeOf('filter', 0, 1)
    expect(filterFault(issueOf(Item, { ...good, patient: undefined }), place)).toEqual({
      code: 0,
      message: 'make sure that the patient block has a valid search parameter in filter 1 of 1',
    })
    expect(filterFault(issueOf(Item, { ...good, patient: { firstName: 7 } }), place).message).toBe(
      'make sure that the patient block has a valid search parameter in filter 1 of 1 (firstName cannot be used (Invalid input: expected string, received number))',
    )
  })

  it('a search, and a value that is not of the request types', () => {
    const Search = z.object({ page: z.int() })
    expect(searchFault(issueOf(Search, {})).message).toBe('the page of the search is null or empty')
    expect(searchFault(issueOf(Search, 7)).message).toBe(
      'the search cannot be used (Invalid input: expected object, received number)',
    )
    expect(fieldFault('request', 'requestType', 'request 1 of 1', 'not in the request types')).toEqual({
      code: 1,
      message:
        'the request requestType cannot be used (not in the request types) in the request block of request 1 of 1',
    })
  })
})
