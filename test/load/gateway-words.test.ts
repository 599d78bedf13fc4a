import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { refusalWords, scrubWords, secretsOf, told } from '../../src/load/gateway-words.ts'

const word = fc.stringMatching(/^[A-Za-zÄÖÜäöüß.+*$()\\-]{2,12}$/)
const secret = fc.oneof(
  word,
  fc.array(word, { minLength: 2, maxLength: 3 }).map((words) => words.join(' ')),
  fc.double({ noNaN: true }).map(String),
)

describe('scrubbing', () => {
  it('leaves nothing of what the record holds, wherever and in whatever case it stands', () => {
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 8 }),
        fc.array(
          fc.tuple(fc.constantFrom('field ', ' "', "' ", ' is (', '=', ': ', ''), fc.nat(7), fc.boolean()),
          { maxLength: 12 },
        ),
        (secrets, pieces) => {
          const words = pieces.map(([before, at, loud]) => {
            const text = secrets[at % secrets.length] ?? ''
            return `${before}${loud ? text.toUpperCase() : text}`
          })
          const left = scrubWords(words.join(' '), secrets).toLowerCase()
          for (const one of secrets) expect(left).not.toContain(one.toLowerCase())
        },
      ),
      { numRuns: 500 },
    )
  })

  it('leaves what turns a message into its opposite', () => {
    const secrets = ['smoking, not otherwise specified', '404']
    expect(scrubWords('NOT FOUND, smoking 404', secrets)).toBe('NOT FOUND, … …')
  })

  it('leaves no rest of a longer name around a shorter one', () => {
    expect(scrubWords('no Smithson here', ['Smith', 'Smithson'])).toBe('no … here')
  })

  it('takes out a single name of several, and a name cut off in its quotes', () => {
    expect(scrubWords('who is Ann?', ['Mary Ann'])).toBe('who is …?')
    expect(scrubWords('who is "Mar', ['Mary Ann'])).toBe('who is …')
  })

  it('takes out quotes, and words with digits', () => {
    expect(scrubWords('value “x y” at records[2].value: 5,25 (E11.9) for \'a\' "b"', [])).toBe(
      'value … at records[#].value: #,# (#) for … …',
    )
  })

  it('keeps the rest', () => {
    expect(scrubWords('unit is not known', ['kg/m2', 'x', ''])).toBe('unit is not known')
  })
})

describe('what is told of a refusal', () => {
  it('is the status, then the gateway’s words; those alone are scrubbed', () => {
    const words = refusalWords({ status: 404, gatewayMessage: 'no smoking 404' })
    expect(told(words, ['smoking', '404', 'HTTP'])).toEqual({
      message: 'HTTP 404: no smoking 404',
      scrubbed: 'HTTP 404: no … …',
    })
  })

  it.each([
    [{ status: 422, gatewayMessage: undefined }, 'HTTP 422: no reason given'],
    [{ status: undefined, gatewayMessage: 'gone' }, 'gone'],
  ])('of %o is "%s"', (error, message) => {
    expect(told(refusalWords(error), [])).toEqual({ message, scrubbed: message })
  })

  it('is cut for the ledger, and not for the rejects file', () => {
    const { message, scrubbed } = told({ ours: 'HTTP 400: ', theirs: 'word '.repeat(200) }, [])
    expect([message.length, scrubbed.length]).toEqual([1010, 300])
  })
})

it('secrets are all values of the text, keys left out', () => {
  expect(secretsOf({ a: 'x', b: [1, { c: 'y' }], d: null, e: true })).toEqual(['x', '1', 'y'])
})
