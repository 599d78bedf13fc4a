/**
 * Parses a message of HL7 v2 (HL7 v2.5.1, sections 2.5.3 and 2.7). The groups of any message are those of ORU^R01 (chapter 7): segments behind
 * a PID, an ORC or OBR, an OBX belong to that segment.
 *
 *     { MSH, PATIENT_RESULT: [{ PATIENT: { PID }, ORDER_OBSERVATION: [{ ORC, OBR, OBSERVATION: [{ OBX, NTE: […] }] }] }] }
 *
 * All other segments are lists in their group. A segment has fields by number, each a list of repetitions, each with components by number:
 * `OBX['3'][0]['1']`. A component is a text, or has subcomponents by number: a part is never taken for the whole. Empty parts are absent.
 */
import type { JsonValue } from '../model/row.ts'

interface Members {
  [name: string]: JsonValue | JsonValue[] | Members
}

interface Delimiters {
  readonly field: string
  readonly component: string
  readonly repetition: string
  readonly escaping: string
  readonly subcomponent: string
}

const SEGMENT = /^[A-Z][A-Z0-9]{2}/

/** @returns the document, or a problem without any content */
export function readMessage(text: string): { readonly value: JsonValue } | { readonly problem: string } {
  // A line feed is text if MSH ends with CR.
  const endsWithCr = /^[^\r\n]*\r(?!\n)/.test(text)
  const segments = text.split(endsWithCr ? /\r\n?/ : /\r\n?|\n/)
  const delimiters = delimitersOf(segments[0] ?? '')
  if (delimiters === undefined)
    return {
      problem: 'MSH has no valid delimiters: it needs one for fields, and up to four others',
    }
  const message = new Grouping()
  for (const [at, segment] of segments.entries()) {
    if (segment.trim() === '') continue
    const [name] = SEGMENT.exec(segment) ?? []
    if (name === undefined || (segment.length > 3 && segment[3] !== delimiters.field))
      return { problem: `line ${at + 1} of the message does not begin with the name of a segment` }
    if (endsWithCr && beginsAnother(segment, delimiters))
      return {
        problem: `a line feed precedes a probable segment in line ${at + 1}, but segments of the message end with CR`,
      }
    message.add(name, fieldsOf(name, segment, delimiters))
  }
  return { value: message.document as JsonValue }
}

/** Segments that begin a group of a result. */
const OF_RESULTS = /^(?:PID|ORC|OBR|OBX)/

/** True for a line feed that may end a segment. */
const beginsAnother = (segment: string, { field }: Delimiters): boolean =>
  segment.includes('\n') &&
  segment.split('\n').some((line, at) => at > 0 && OF_RESULTS.test(line) && line[3] === field)

/** MSH-1 and MSH-2 (section 2.5.4): the first four of the others, as far as given. */
function delimitersOf(header: string): Delimiters | undefined {
  const field = header[3]
  if (field === undefined || /[\w\s]/.test(field)) return undefined
  const [component, repetition = '', escaping = '', subcomponent = ''] = header.slice(4).split(field)[0] ?? ''
  return component === undefined ? undefined : { field, component, repetition, escaping, subcomponent }
}

/** Fields by number, from 1. MSH-1 is the delimiter of fields, MSH-2 the others: neither is split. */
function fieldsOf(name: string, segment: string, delimiters: Delimiters): Members {
  const [, ...fields] = segment.split(delimiters.field)
  const found: Members = {}
  const isHeader = name === 'MSH'
  if (isHeader) {
    found['1'] = [{ '1': delimiters.field }]
    found['2'] = [{ '1': fields[0] ?? '' }]
  }
  for (const [at, field] of fields.entries()) {
    if (field === '' || (isHeader && at === 0)) continue
    const repetitions = split(field, delimiters.repetition).map((one) => componentsOf(one, delimiters))
    found[String(at + (isHeader ? 2 : 1))] = repetitions
  }
  return found
}

function componentsOf(repetition: string, delimiters: Delimiters): Members {
  return numbered(split(repetition, delimiters.component), (component) => {
    const parts = split(component, delimiters.subcomponent)
    if (parts.length === 1) return textOf(component, delimiters)
    return numbered(parts, (part) => textOf(part, delimiters))
  })
}

/** Parts by number, from 1, without the empty ones. */
function numbered(parts: readonly string[], read: (part: string) => string | Members): Members {
  const found: Members = {}
  for (const [at, part] of parts.entries()) if (part !== '') found[String(at + 1)] = read(part)
  return found
}

const split = (text: string, delimiter: string): string[] =>
  delimiter === '' ? [text] : text.split(delimiter)

/** Section 2.7: delimiters, characters by their bytes (of UTF-8), line breaks. Other escapes stay as written. */
function textOf(text: string, delimiters: Delimiters): string {
  const mark = delimiters.escaping
  if (mark === '' || !text.includes(mark)) return text
  const written: Readonly<Record<string, string>> = {
    F: delimiters.field,
    S: delimiters.component,
    T: delimiters.subcomponent,
    R: delimiters.repetition,
    E: mark,
    '.br': '\n',
  }
  const parts = text.split(mark)
  let unescaped = parts[0] ?? ''
  for (let at = 1; at < parts.length; at += 2) {
    const sequence = parts[at] ?? ''
    const isClosed = at + 1 < parts.length
    const [, bytes] = /^X((?:[0-9A-Fa-f]{2})+)$/.exec(sequence) ?? []
    const meant = bytes === undefined ? written[sequence] : Buffer.from(bytes, 'hex').toString('utf8')
    unescaped += isClosed ? (meant ?? `${mark}${sequence}${mark}`) : `${mark}${sequence}`
    unescaped += parts[at + 1] ?? ''
  }
  return unescaped
}

/** Puts segments into the groups of a result. */
class Grouping {
  readonly document: Members = {}
  #patient: Members | undefined
  #order: Members | undefined
  #observation: Members | undefined

  add(name: string, segment: Members): void {
    switch (name) {
      case 'MSH':
        this.document['MSH'] = segment
        return
      case 'PID':
        this.#patientGroup(true)['PATIENT'] = { PID: segment }
        return
      case 'ORC':
        this.#orderGroup(true)['ORC'] = segment
        return
      case 'OBR': {
        const isBegun =
          this.#order !== undefined && !('OBR' in this.#order) && !('OBSERVATION' in this.#order)
        this.#orderGroup(!isBegun)['OBR'] = segment
        return
      }
      case 'OBX': {
        const order = this.#orderGroup(false)
        this.#observation = { OBX: segment }
        append(order, 'OBSERVATION', this.#observation)
        return
      }
      default:
        append(this.#groupOf(name), name, segment)
    }
  }

  /** A note belongs to the observation right before; other segments to the order, else the patient, else the message. */
  #groupOf(name: string): Members {
    if (name === 'NTE' && this.#observation !== undefined) return this.#observation
    this.#observation = undefined
    return this.#order ?? (this.#patient?.['PATIENT'] as Members | undefined) ?? this.document
  }

  #patientGroup(isNew: boolean): Members {
    if (isNew || this.#patient === undefined) {
      this.#patient = {}
      this.#order = undefined
      this.#observation = undefined
      append(this.document, 'PATIENT_RESULT', this.#patient)
    }
    return this.#patient
  }

  #orderGroup(isNew: boolean): Members {
    if (isNew || this.#order === undefined) {
      const patient = this.#patientGroup(false)
      this.#order = {}
      this.#observation = undefined
      append(patient, 'ORDER_OBSERVATION', this.#order)
    }
    return this.#order
  }
}

function append(group: Members, name: string, member: Members): void {
  const list = group[name]
  if (Array.isArray(list)) (list as JsonValue[]).push(member as JsonValue)
  else group[name] = [member as JsonValue]
}
