import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RegistrationRequest } from '../../src/gateway/contract/account.ts'
import { BiometricSent, CareTeamSent, ConditionSent } from '../../src/gateway/contract/health-profile.ts'
import { Source, SourceMeta } from '../../src/gateway/contract/shared-objects.ts'
import { KNOWN_WORDS, messageOf, refusalWords } from '../../src/load/gateway-words.ts'
import type { Entry } from '../../src/model/entry.ts'
import { processorMs } from '../processor-time.ts'
import { careTeam, entriesOf, type Made, registrationOf } from './made-up-entries.ts'

function entry(made: Made = {}): Entry {
  const [one] = entriesOf([careTeam(made)], made)
  if (one === undefined) throw new Error('no entry')
  return one
}

const toldOf = (theirs: string, made?: Made): string => messageOf({ ours: '', theirs }, entry(made)).scrubbed

describe('of the gateway’s words', () => {
  const TOLD = new Set([...KNOWN_WORDS.values(), '…'])
  const known = fc.constantFrom(...KNOWN_WORDS.values())
  const wordsOf = (text: string): string[] => text.split(/[ .]|[:,;](?= |$)/).filter((word) => word !== '')

  it('nothing is told but known words as we write them, whatever stands around them, and none that the row holds', () => {
    const foreign = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.double().map(String), known)
    const joint = fc.constantFrom(' ', '', '.', '-', '"', ', ', ': ', '\u200b', '(', '\n')
    fc.assert(
      fc.property(
        fc.array(fc.tuple(foreign, joint, fc.boolean()), { maxLength: 20 }),
        fc.array(known, { maxLength: 4 }),
        (pieces, cells) => {
          const text = pieces
            .map(([word, after, loud]) => (loud ? word.toUpperCase() : word) + after)
            .join('')
          for (const word of wordsOf(toldOf(text, { cells: [`x ${cells.join('-').toUpperCase()}`] }))) {
            expect(TOLD).toContain(word)
            expect(cells).not.toContain(word)
          }
        },
      ),
      { numRuns: 1_000 },
    )
  })

  const row = (...cells: string[]): Made => ({ cells })
  it.each<[string, string, string, Made?]>([
    [
      'keeps what is wrong, and where',
      'Value is not in the allowed range',
      'value is not in the allowed range',
    ],
    ['keeps places of a field', 'body/0/account.reference: REQUIRED', 'body.….account.reference: required'],
    ['takes out names, dates, numbers', 'record of Ann Lee, born 1970-02-28: 118.5!', 'record of …'],
    ['takes out quotes', 'status "Deceased" is not known; \'Ann\'', 'status … is not known; …'],
    ['takes out what is cut off', 'name is "Mary A', 'name is …'],
    ['takes out what is split', 'Name N-o-lan, An.na, no-lan, va\u200blue', 'name …'],
    ['takes out markup', '<h1 title="x">Bad <b>gateway</b></h1>', '… gateway …'],
    ['takes out what looks like a letter', 'vаlue ｖａｌｕｅ', '…'],
    ['of a cell, whatever its case', 'Value of CODE', '… of …', row('value', 'Dr. Code')],
    [
      'of a cell with other words and signs',
      'unit no known',
      '… no …',
      row('x_Unit@known.example', 'nothing'),
    ],
    ['of a cell with accents', 'Code of unit', '… of unit', row('Cödé')],
    ['of the registration', 'Record missing', 'record …', namedMissing()],
    ['of the record', 'Record missing', '… missing', { name: 'Test Record' }],
  ])('%s: "%s"', (_, theirs, expected, made) => {
    expect(toldOf(theirs, made)).toBe(expected)
  })

  function namedMissing(): Made {
    const draft = registrationOf('person-1')
    if (!draft.ok) throw new Error('no registration')
    return { register: () => ({ ok: true, registration: { ...draft.registration, lastName: 'Missing' } }) }
  }

  it('a field of the interface can be told', () => {
    const schemas = [BiometricSent, ConditionSent, CareTeamSent, RegistrationRequest, Source, SourceMeta]
    const fields = schemas.flatMap((schema) => Object.keys(schema.shape))
    expect(fields.length).toBeGreaterThan(30)
    expect(fields.filter((field) => toldOf(field) !== field)).toEqual([])
  })

  it('no common name is a known word', () => {
    const names =
      'May Mark Will Bill Grace Grant Hope Joy Rich Max Dean Page Case Day Long Young Small King Do An'
    for (const name of names.split(' ')) expect(toldOf(name), name).toBe('…')
  })
})

describe('what is told of a refusal', () => {
  it('is the status, then the gateway’s words: all of them for the rejects file', () => {
    const words = refusalWords({ status: 404, gatewayMessage: 'no Ann 404' })
    expect(messageOf(words, entry())).toEqual({
      message: 'HTTP 404: no Ann 404',
      scrubbed: 'HTTP 404: no …',
    })
  })

  it.each([
    [{ status: 422, gatewayMessage: undefined }, 'HTTP 422: no reason given'],
    [{ status: undefined, gatewayMessage: 'gone' }, 'gone'],
  ])('of %o is "%s"', (error, message) => {
    expect(messageOf(refusalWords(error), entry())).toEqual({ message, scrubbed: message })
  })

  it('is cut for the ledger, and not for the rejects file', () => {
    const { message, scrubbed } = messageOf({ ours: 'HTTP 400: ', theirs: 'value '.repeat(200) }, entry())
    expect([message.length, scrubbed.length]).toEqual([1210, 300])
  })

  it('costs less than half a millisecond of processor time a record, the first ones included', async () => {
    const cells = Array.from({ length: 60 }, (_, at) => `answer ${at}`)
    const entries = Array.from({ length: 200 }, (_, at) => entry({ row: at + 1, person: `p-${at}`, cells }))
    const took = await processorMs(() => {
      for (const [at, one] of entries.entries())
        messageOf(refusalWords({ status: 422, gatewayMessage: `value ${at} is not known `.repeat(12) }), one)
    })
    expect(took / entries.length).toBeLessThan(0.5)
  })
})
