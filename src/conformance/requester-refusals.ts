import assert from 'node:assert/strict'
import { type ConformanceCase, inSection } from './case.ts'
import type { Answer } from './client.ts'
import {
  createRoi,
  createTaken,
  PATH,
  remove,
  search,
  searchFor,
  uploadFor,
  upsert,
} from './medical-records-calls.ts'
import {
  assertForm,
  assertKept,
  assertStatus,
  at,
  INTEGER,
  jsonOf,
  LIST,
  listAt,
  TEXT,
  textAt,
} from './values.ts'

const errors = inSection('Errors')

const KIND = { type: '', subType: '' }

/** The inner envelope serialised as text within a message; undefined where there is none. */
function innerOf(message: string): unknown {
  const text = message.slice(message.indexOf('{'), message.lastIndexOf('}') + 1)
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A body of 400 in one of the two forms that the section has. @returns the texts in it */
function assertRefusal(answer: Answer): string {
  assertStatus(answer, 400)
  const body = jsonOf(answer)
  assertKept(at(body, 'code'), 400, 'code')
  assertForm(at(body, 'message'), TEXT, 'message')
  for (const error of listAt(body, 'errors')) {
    assertForm(at(error, 'code'), INTEGER, 'errors[].code')
    assertForm(at(error, 'message'), TEXT, 'errors[].message')
  }
  return answer.text
}

function assertTells(answer: Answer, pattern: RegExp, what: string): void {
  assert.match(
    assertRefusal(answer),
    pattern,
    `${answer.call}: the document has a message that ${what}; it does not`,
  )
}

/** Section "Errors". */
export const REQUESTER_REFUSAL_CASES: readonly ConformanceCase[] = [
  errors.nothing('code', async (client) => {
    assertRefusal(await search(client, searchFor({}, KIND)))
  }),
  errors.nothing('message', async (client) => {
    const answer = await search(client, searchFor({}, KIND))
    assertRefusal(answer)
    const message = textAt(jsonOf(answer), 'message')
    const inner = innerOf(message)
    // A bare body has no inner envelope.
    if (inner !== undefined)
      assertKept(message.startsWith('{'), false, 'message beginning without a failure phrase')
  }),
  errors.nothing('errors', async (client) => {
    const answer = await search(client, searchFor({}, KIND))
    assertRefusal(answer)
    const body = jsonOf(answer)
    assertForm(at(body, 'errors'), LIST, 'errors')
    if (innerOf(textAt(body, 'message')) === undefined) return
    for (const error of listAt(body, 'errors')) {
      assertKept(at(error, 'code'), 400, 'errors[].code')
      assertKept(at(error, 'message'), at(body, 'message'), 'errors[].message, the same text,')
      assertKept(at(error, 'exception'), null, 'errors[].exception')
    }
  }),
  errors.writes(
    'The inner envelope has code, message and errors[] with code (integers 0 and 1 occur) and message.',
    async (client) => {
      const { sent } = await createTaken(client)
      const patient = { ...sent.patient, firstName: '' }
      const answer = await upsert(client, [{ ...sent, referenceNumber: client.unique('reference'), patient }])
      assertRefusal(answer)
      const inner = innerOf(textAt(jsonOf(answer), 'message'))
      if (inner === undefined) return
      assertForm(at(inner, 'code'), INTEGER, 'the inner code')
      assertForm(at(inner, 'message'), TEXT, 'the inner message')
      for (const error of listAt(inner, 'errors')) {
        assertForm(at(error, 'code'), INTEGER, 'the inner errors[].code')
        assertForm(at(error, 'message'), TEXT, 'the inner errors[].message')
      }
    },
  ),
  errors.nothing(
    'A bare 400 body has code, message and errors[] (items with code and message).',
    async (client) => {
      assertRefusal(await search(client, []))
    },
  ),
  errors.writes('Malformed request or validation failure on PATCH', async (client) => {
    const { sent } = await createTaken(client)
    const patient = { ...sent.patient, firstName: '' }
    const bad = { ...sent, referenceNumber: client.unique('reference'), patient }
    // Of one request the position would be 0 or 1: which, the document leaves open.
    assertTells(
      await upsert(client, [sent, sent, bad].map(renumbered(client.unique('batch')))),
      /first ?name/i,
      'names the field',
    )
    assertTells(
      await upsert(client, [sent, sent, bad].map(renumbered(client.unique('batch')))),
      /[23]/,
      'has the position',
    )
  }),
  errors.nothing('Search with no usable patient field', async (client) => {
    assertTells(await search(client, searchFor({}, KIND)), /patient/i, 'asks for a patient field')
    assertTells(
      await search(client, searchFor({ lastName: '' }, KIND)),
      /patient/i,
      'asks for a patient field',
    )
  }),
  errors.writes(
    'Delete of a reference number that does not exist or is already processed',
    async (client) => {
      const pattern = /Reference Number not found Or Request already processed/
      assertTells(await remove(client, client.unique('reference')), pattern, 'says so')
      const { sent, returned } = await createTaken(client)
      await uploadFor(client, returned)
      assertTells(await remove(client, sent.referenceNumber), pattern, 'says so')
    },
  ),
  errors.writes('Delete with an invalid reference number', async (client) => {
    assertStatus(await remove(client, '%00'), 400)
  }),
  errors.nothing('Request types call cannot be processed', async (client) => {
    const answer = await client.send('GET', `${PATH}/requestTypes`, { headers: { 'X-API-Version': 'none' } })
    // Whether another version can be processed is left open; what cannot be is 400.
    assertStatus(answer, 200, 400)
    if (answer.status === 400) assertRefusal(answer)
  }),
  errors.writes('Missing required block in a request', async (client) => {
    const { sent } = await createTaken(client)
    const { patient: _, ...bad } = await createRoi(client)
    const batch = [sent, sent, bad].map(renumbered(client.unique('batch')))
    assertTells(await upsert(client, batch), /patient/i, 'names the block')
    assertTells(await upsert(client, batch), /[23]/, 'has the position')
  }),
]

/** Gives each request of a batch a reference number of its own. */
const renumbered = (prefix: string) => (request: object, index: number) => ({
  ...request,
  referenceNumber: `${prefix}-${'abc'[index]}`,
})
