/** An ORU^R01 message in the shape that Mirth / NextGen Connect gives it: segments, fields and components by their names. */
import { type Person, padded, SAMPLE_YEAR } from './people.ts'
import type { Random } from './random.ts'

/** What Mirth makes of a text: a number where it looks like one. */
const scalar = (text: string): string | number => (/^(0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text)

/** One result: OBX with its first eleven fields. */
export function obx(
  at: number,
  code: string,
  label: string,
  value: string | number,
  unit: string,
  status: string,
): object {
  return {
    'OBX.1': { 'OBX.1.1': at },
    'OBX.2': { 'OBX.2.1': 'NM' },
    'OBX.3': { 'OBX.3.1': code, 'OBX.3.2': label, 'OBX.3.3': 'L' },
    'OBX.4': null,
    'OBX.5': { 'OBX.5.1': value },
    'OBX.6': { 'OBX.6.1': unit },
    'OBX.7': null,
    'OBX.8': null,
    'OBX.9': null,
    'OBX.10': null,
    'OBX.11': { 'OBX.11.1': status },
  }
}

/** Drawn on a morning of the last week of February; reported on the first of March. Half of the analysers tell the offset. */
export function oru(message: number, person: Person, random: Random, results: readonly object[]): object {
  const drawn = `${SAMPLE_YEAR}02${padded(random.integer(23, 27), 2)}${padded(random.integer(6, 10), 2)}${padded(random.integer(0, 59), 2)}00`
  return {
    HL7Message: {
      MSH: {
        'MSH.1': '|',
        'MSH.2': '^~\\&',
        'MSH.3': { 'MSH.3.1': 'NORTHLAB' },
        'MSH.7': { 'MSH.7.1': Number(`${SAMPLE_YEAR}0301060000`) },
        'MSH.9': { 'MSH.9.1': 'ORU', 'MSH.9.2': 'R01' },
        'MSH.10': { 'MSH.10.1': message },
        'MSH.11': { 'MSH.11.1': 'P' },
        'MSH.12': { 'MSH.12.1': 2.3 },
      },
      PID: {
        'PID.1': { 'PID.1.1': 1 },
        'PID.2': null,
        'PID.3': { 'PID.3.1': person.participantId },
        'PID.4': null,
        'PID.5': { 'PID.5.1': person.lastName, 'PID.5.2': person.firstName },
        'PID.6': null,
        'PID.7': { 'PID.7.1': scalar(person.dateOfBirth.replaceAll('-', '')) },
        'PID.8': { 'PID.8.1': person.gender },
        'PID.9': null,
        'PID.10': null,
        'PID.11': {
          'PID.11.1': null,
          'PID.11.2': null,
          'PID.11.3': null,
          'PID.11.4': null,
          'PID.11.5': scalar(person.postalCode),
        },
      },
      OBR: {
        'OBR.1': { 'OBR.1.1': 1 },
        'OBR.2': null,
        'OBR.3': { 'OBR.3.1': `NL26-${padded(message, 6)}` },
        'OBR.4': { 'OBR.4.1': 'NL-SCREEN', 'OBR.4.2': 'Screening panel' },
        'OBR.5': null,
        'OBR.6': null,
        'OBR.7': { 'OBR.7.1': random.chance(0.5) ? `${drawn}-0500` : Number(drawn) },
      },
      OBX: results.length === 1 ? results[0] : results,
    },
  }
}
