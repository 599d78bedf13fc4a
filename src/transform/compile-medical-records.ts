/** Rules for medical-records requests (interface, "Medical-records request (ROI)"). */

import type { z } from 'zod'
import { Disclosure } from '../gateway/contract/medical-records.ts'
import { RequestEntry } from '../model/entry.ts'
import { type AccountKey, type Fault, fault } from '../model/record.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import type { CompiledField, FieldText } from './compile-context.ts'
import { compileField, compileWhen } from './compile-field.ts'
import { compileBirthDate, compileDay, dayText } from './dates.ts'
import type { FieldDefinition, FieldObject, MappingDefinition } from './mapping-definition.ts'
import { type CompiledRule, type RuleSite, recordRule, rejected } from './rule.ts'
import { branchOf, type Scope } from './scope.ts'
import { frameOfParts, NO_TIME } from './source.ts'

type MedicalRecordsDefinition = NonNullable<MappingDefinition['medicalRecords']>[string]

/** Value of a member of a request; null clears an earlier value (interface, "States and transitions"). */
type Value = string | boolean | readonly string[] | null

/** A field of the request, below a block or at the top. */
interface Part {
  readonly at: KeyPath
  readonly field: CompiledField
  readonly read: (scope: Scope) => Value | Fault
}

const missing = (name: string): Fault => fault('value-missing', `there is no ${name}`)
const NO_DATE = fault(
  'date-invalid',
  "the date matches none of the mapping's formats, or is a birth date before 1900 or in the future",
)
const NO_DISCLOSURE = fault('disclosure-unknown', 'the interface does not have this disclosure')
const NO_FLAG = fault('flag-not-true-or-false', 'the field is neither true nor false')
const DATES_CROSSED = fault('date-invalid', 'the dates of service end before they begin')
const BADLY_NAMED = fault(
  'authorization-badly-named',
  'the name of the authorization is a path, not a file name',
)

/** Name of a file in its own folder, on every system; never a path. */
const FILE_NAME = /^[^./\\:\0][^/\\:\0]{0,254}$/

const isDisclosure = (text: string): text is z.infer<typeof Disclosure> => Disclosure.safeParse(text).success

const isFault = (value: Value | Fault | undefined): value is Fault =>
  typeof value === 'object' && value !== null && 'code' in value

/** Members of the body of a request, in the order in which they are read. */
function partsOf(
  { context, path, ...site }: RuleSite,
  { patient, provider = {}, request, webhook }: MedicalRecordsDefinition,
): readonly Part[] {
  const fieldOf = (at: KeyPath, field: FieldDefinition) => compileField(context, field, [...path, ...at])
  const wordOf = (at: KeyPath, field: FieldDefinition) => fieldOf(at, context.word(field, [...path, ...at]))
  const parts: Part[] = []
  const needed = (at: KeyPath, field: CompiledField): void => {
    parts.push({ at, field, read: (scope) => field.read(scope) || missing(at.join('.')) })
  }
  const optional = (at: KeyPath, written: FieldDefinition | undefined): void => {
    if (written === undefined) return
    const field = fieldOf(at, written)
    parts.push({ at, field, read: (scope) => field.read(scope) || null })
  }
  const dated = (
    at: KeyPath,
    { format, century, ...written }: FieldObject & Parameters<typeof compileDay>[0],
    compile: typeof compileBirthDate = compileDay,
  ): void => {
    const field = fieldOf(at, written)
    const dayOf = compile({ format, century }, context.checks)
    parts.push({
      at,
      field,
      read(scope) {
        const text = field.read(scope)
        if (typeof text !== 'string') return text
        return text === '' ? missing(at.join('.')) : (dayText(dayOf(text)) ?? NO_DATE)
      },
    })
  }

  optional(['patient', 'type'], patient.type)
  optional(['patient', 'reference'], patient.reference)
  optional(['patient', 'zip'], patient.zip)
  needed(['patient', 'firstName'], fieldOf(['patient', 'firstName'], patient.firstName))
  needed(['patient', 'lastName'], fieldOf(['patient', 'lastName'], patient.lastName))
  dated(['patient', 'dob'], patient.dob, compileBirthDate)
  const { others = {}, ...named } = provider
  for (const [key, field] of Object.entries(named)) optional(['provider', key], field)
  for (const [key, field] of Object.entries(others)) {
    const at = ['provider', key]
    const compiled = compileField(context, field, [...path, 'provider', 'others', key])
    parts.push({ at, field: compiled, read: (scope) => compiled.read(scope) || null })
  }
  const ofRequest = (key: string): KeyPath => ['request', key]
  const type = fieldOf(ofRequest('type'), request.type ?? { constant: '' })
  parts.push({ at: ofRequest('type'), field: type, read: type.read })
  needed(ofRequest('requestType'), wordOf(ofRequest('requestType'), request.requestType))
  needed(ofRequest('requestSubType'), wordOf(ofRequest('requestSubType'), request.requestSubType))
  const dates = request.datesOfService
  const ofDates = (key: string): KeyPath => ['request', 'datesOfService', key]
  needed(ofDates('type'), fieldOf(ofDates('type'), dates.type ?? { constant: 'startEnd' }))
  dated(ofDates('start'), dates.start)
  dated(ofDates('end'), dates.end)
  if (request.disclosures !== undefined)
    parts.push(disclosuresOf({ ...site, context, path }, request.disclosures))

  const changes = webhook?.sendStatusChange
  if (changes !== undefined) {
    const at = ['webhook', 'sendStatusChange']
    const field = fieldOf(at, typeof changes === 'boolean' ? { constant: String(changes) } : changes)
    parts.push({ at, field, read: (scope) => flagOf(field.read(scope)) })
  }
  return parts
}

/** Compiles a rule of requests. */
export function compileMedicalRequest(site: RuleSite, definition: MedicalRecordsDefinition): CompiledRule {
  const { context, name, path, source } = site
  const { patient, authorization } = definition
  const condition = compileWhen(context, definition.when, [...path, 'when'])
  const withdrawn = definition.withdrawn && compileWhen(context, definition.withdrawn, [...path, 'withdrawn'])
  const fieldOf = (at: KeyPath, field: FieldDefinition) => compileField(context, field, [...path, ...at])
  const parts = partsOf(site, definition)
  const reference = fieldOf(['reference'], definition.reference)
  const file = authorization && fieldOf(['authorization', 'file'], authorization.file)
  const branch = branchOf(condition, withdrawn, reference, file, ...parts.map(({ field }) => field))
  const frameOf = frameOfParts(source, 'medicalRecords', ',"request":', ',"withdrawn":')
  return {
    branch,
    apply(scope, facts, _rowDate, ordinals) {
      if (!condition.holds(scope)) return undefined
      const rule = recordRule(name, 'request', branch, ordinals)
      const refuse = (found: Fault, { from }: CompiledField) => rejected('medicalRecords', rule, found, from)
      const number = reference.read(scope)
      if (typeof number !== 'string') return refuse(number, reference)
      if (number === '') return refuse(missing('reference number'), reference)
      const body = emptyBody(number)
      for (const { at, field, read } of parts) {
        const value = read(scope)
        if (isFault(value)) return refuse(value, field)
        put(body, at, value)
      }
      if (patient.reference === undefined) nameBy(body, facts.account)
      const { start, end } = body.request.datesOfService
      if (String(end) < String(start)) return rejected('medicalRecords', rule, DATES_CROSSED, undefined)
      const pdf = file?.read(scope)
      if (typeof pdf === 'object') return rejected('medicalRecords', rule, pdf, file?.from)
      if (pdf !== undefined && pdf !== '' && !FILE_NAME.test(pdf))
        return rejected('medicalRecords', rule, BADLY_NAMED, file?.from)
      return new RequestEntry(frameOf(), rule, facts, NO_TIME, {
        reference: number,
        body: JSON.stringify(body),
        isWithdrawn: withdrawn?.holds(scope) === true,
        authorization: pdf,
      })
    },
  }
}

interface Body {
  readonly referenceNumber: string
  readonly patient: Record<string, unknown>
  readonly provider: Record<string, unknown>
  readonly request: Record<string, unknown> & { readonly datesOfService: Record<string, unknown> }
  /** Reserved: "send an empty string". */
  readonly webhook: Record<string, unknown> & { readonly url: '' }
}

const emptyBody = (referenceNumber: string): Body => ({
  referenceNumber,
  patient: {},
  provider: {},
  request: { datesOfService: {} },
  webhook: { url: '' },
})

function put(body: Body, [block, ...rest]: KeyPath, value: Value): void {
  const { patient, provider, request, webhook } = body
  const within = { patient, provider, webhook }[String(block)] ?? request
  const [key, below] = rest
  if (below === undefined) within[String(key)] = value
  else body.request.datesOfService[String(below)] = value
}

/** Sets the person's account: a status query for a person finds requests by it. */
function nameBy({ patient }: Body, { reference, type }: AccountKey): void {
  patient['reference'] = reference
  patient['type'] ??= type
}

function flagOf(text: FieldText): boolean | null | Fault {
  if (typeof text !== 'string') return text
  const flag = text.toLowerCase()
  return flag === '' ? null : flag === 'true' || (flag === 'false' ? false : NO_FLAG)
}

/** Compiles disclosures. A bare word is the disclosure itself; a field gives none, one, or several with commas. */
function disclosuresOf(
  { context, path }: RuleSite,
  written: NonNullable<MedicalRecordsDefinition['request']['disclosures']>,
): Part {
  const at = ['request', 'disclosures']
  const fields = written.map((one, index) => {
    const place = [...path, ...at, index]
    if (typeof one === 'string' && !isDisclosure(one))
      context.report(place, `"${one}" is no disclosure of the interface`)
    return compileField(context, context.word(one, place), place)
  })
  const from = fields.flatMap((field) => field.from ?? []).join(', ')
  return {
    at,
    field: { from: from === '' ? undefined : from, branch: branchOf(...fields), read: () => '' },
    read(scope) {
      const found = new Set<string>()
      for (const field of fields) {
        const text = field.read(scope)
        if (typeof text !== 'string') return text
        for (const one of text.split(',').map((word) => word.trim())) {
          if (one === '') continue
          if (!isDisclosure(one)) return NO_DISCLOSURE
          found.add(one)
        }
      }
      return found.size === 0 ? null : [...found]
    },
  }
}
