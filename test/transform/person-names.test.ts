/** The name of a person among several: places of names on a path, and the legal one of a list. */
import { describe, expect, it } from 'vitest'
import { legalName, namesAt } from '../../src/transform/person-names.ts'

describe('names on a path', () => {
  it.each([
    ['FHIR', ['name', 0, 'family'], 0],
    ['FHIR in a bundle', ['patient', 'names', 0, 'family'], 1],
    ['a name that is no list', ['name', 'family'], 0],
    ['the second name is meant', ['name', 1, 'family'], -1],
    ['a filter says which', ['name', { use: 'official' }, 'family'], -1],
    ['all names', ['name'], -1],
    ['a longer word', ['username', 0], -1],
    ['PID-5 by its own member', ['PID', 'PID.5', 0, 'PID.5.1'], 1],
    ['PID-5 with a dash', ['PID-5', 'family'], 0],
    ['PID-5 by number', ['PID', '5', 0, 1], 1],
    ['PID-5 of the first segment', ['PID', 0, 5, 0, 1], 2],
    ['PID-5 of the first segment of the first group', ['PID', 0, 0, 5, 0], 3],
    ['PID-6', ['PID', 0, 6, 0, 1], -1],
    ['NK1-5', ['NK1', 0, 5, 0, 1], -1],
    ['a segment that only begins so', ['PIDX', 0, 5, 0, 1], -1],
    ['fields by position', [`?(@.id=='PID')`, 'fields', 4, 'value', 0], 3],
    ['the sixth field by position', [`?(@.id=='PID')`, 'fields', 5, 'value', 0], -1],
    ['fields of another segment', [`?(@.id=='NK1')`, 'fields', 4, 'value', 0], -1],
    ['no fields', [`?(@.id=='PID')`, 'parts', 4, 'value', 0], -1],
  ] as const)('%s', (_, steps, at) => {
    expect(namesAt(steps)).toBe(at)
  })
})

describe('the legal name', () => {
  const fhir = (use: string, more = {}) => ({ use, family: use, ...more })
  /** XPN: family, given, second, suffix, prefix, degree, type (HL7 v2.5.1, 2.A.88). */
  const xpn = (type: string) => [type, 'Given', '', '', '', '', type]
  it.each([
    ['official before usual', [fhir('usual'), fhir('official')], fhir('official')],
    ['usual before one of no known use', [fhir('work'), fhir('usual')], fhir('usual')],
    ['of two alike the first', [fhir('usual', { n: 1 }), fhir('usual', { n: 2 })], fhir('usual', { n: 1 })],
    ['no former name', [fhir('old'), fhir('work')], fhir('work')],
    [
      'no name whose time is over',
      [fhir('official', { period: { end: '2020' } }), fhir('work')],
      fhir('work'),
    ],
    [
      'a name whose time has begun',
      [fhir('official', { period: { start: '2020' } }), fhir('work')],
      fhir('official', { period: { start: '2020' } }),
    ],
    ['none where all are former', [fhir('old'), fhir('maiden'), fhir('temp')], undefined],
    ['L of HL7 before others', [xpn('D'), xpn('L')], xpn('L')],
    ['no maiden name of HL7', [xpn('M'), xpn('U')], xpn('U')],
    ['none where all of HL7 are former', [xpn('M'), xpn('P'), xpn('T')], undefined],
    ['the type by its name', [{ 'PID.5.7': 'M' }, { 'PID.5.7': 'D' }], { 'PID.5.7': 'D' }],
    ['17 is no type', [{ 'PID.5.17': 'M' }, { 'PID.5.7': 'D' }], { 'PID.5.7': 'D' }],
    ['a single name', fhir('official'), fhir('official')],
    ['a single former name', fhir('old'), undefined],
    [
      'components of a single name',
      ['Family', 'Given', '', '', '', '', 'L'],
      ['Family', 'Given', '', '', '', '', 'L'],
    ],
    ['a text', 'Family', 'Family'],
    ['null', null, undefined],
    ['nothing', undefined, undefined],
  ] as const)('%s', (_, names, legal) => {
    expect(legalName(names)).toEqual(legal)
  })
})
