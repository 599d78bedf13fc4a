/** The `row` block: key, account, registration, observation date, skipped rows. */

import { isDeepStrictEqual } from 'node:util'
import {
  type AccountKey,
  fault,
  type Issue,
  type RegistrationDraft,
  type SentAccount,
} from '../model/record.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import { isExponent } from './codes.ts'
import { type CompileContext, type CompiledField, issueOf } from './compile-context.ts'
import { type CompiledDate, compileDate, compileIssued } from './compile-date.ts'
import { type CompiledCondition, compileField, compileWhen } from './compile-field.ts'
import { compileBirthDate, dayText } from './dates.ts'
import type { FieldDefinition, RowBlock } from './mapping-definition.ts'
import { readReference, type Undone, undone } from './references.ts'
import type { Scope } from './scope.ts'

type RegisterDefinition = NonNullable<RowBlock['account']['register']>

type RowIdentity =
  | { readonly ok: true; readonly key: string; readonly account: SentAccount }
  /** `account` where the reference can be read. */
  | { readonly ok: false; readonly issue: Issue; readonly account?: SentAccount }

export interface CompiledRow extends CompiledPerson {
  readonly skip: CompiledCondition | undefined
  readonly identify: (scope: Scope) => RowIdentity
  readonly observedAt: CompiledDate
  readonly issued: ReturnType<typeof compileIssued>
}

interface CompiledPerson {
  readonly register?: (scope: Scope, account: AccountKey) => RegistrationDraft
  /** First instant of the person's day of birth, in UTC, milliseconds; -Infinity where unknown. */
  readonly bornAt: (scope: Scope) => number
  /** First and last name, joined by `|`; empty where either is missing. */
  readonly nameOf: (scope: Scope) => string
}

const REGISTER = ['row', 'account', 'register']

/** Compiles a field of the row itself. @param what name of the field, for the message */
function rowField(
  context: CompileContext,
  definition: FieldDefinition,
  path: KeyPath,
  what: string,
): CompiledField {
  const field = compileField(context, definition, path)
  if (field.branch > 0) context.report(path, `${what} must be read from the row, not from a level`)
  return field
}

export function compileRow(context: CompileContext, row: RowBlock): CompiledRow {
  const key = row.key.map((part, at) => ({
    field: rowField(context, part, ['row', 'key', at], 'the key'),
    isReference: isDeepStrictEqual(part, row.account.reference),
  }))
  const named = ['row', 'account', 'reference']
  const reference = rowField(context, row.account.reference, named, 'the account')
  const { type } = row.account
  const sponsor =
    row.account.sponsor === undefined
      ? undefined
      : rowField(context, row.account.sponsor, ['row', 'account', 'sponsor'], 'the sponsor')
  const skip = row.skipWhen && compileWhen(context, row.skipWhen, ['row', 'skipWhen'])
  if (skip !== undefined && skip.branch > 0)
    context.report(['row', 'skipWhen'], 'row.skipWhen reads the row, not a level; use `when` in the rules')
  const { register } = row.account
  const person = register === undefined ? UNKNOWN_PERSON : compileRegister(context, register)
  return {
    ...person,
    skip,
    identify(scope) {
      const account = readPerson(context, reference, scope)
      if (typeof account !== 'string') return { ok: false, issue: account }
      const person = { reference: account, type }
      const parts: string[] = []
      for (const { field, isReference } of key) {
        if (isReference) {
          parts.push(account)
          continue
        }
        const part = field.read(scope)
        if (typeof part !== 'string') return { ...refused(part.code, field, part.message), account: person }
        const rounded = damagedKey(context, field, part)
        if (rounded !== undefined) return { ok: false, issue: rounded, account: person }
        parts.push(part === '' ? part : undone(part).text)
      }
      if (parts.every((part) => part === ''))
        return {
          ...refused('key-missing', key[0]?.field, 'every part of the row key is empty'),
          account: person,
        }
      const paying = sponsor === undefined ? '' : sponsor.read(scope)
      if (typeof paying !== 'string')
        return { ...refused(paying.code, sponsor, paying.message), account: person }
      const sent = paying === '' ? person : { ...person, sponsor: paying }
      return { ok: true, key: joinedKey(parts), account: sent }
    },
    observedAt: compileDate(context, row.observedAt, ['row', 'observedAt']),
    issued: compileIssued(context, row),
  }
}

/** Text of a row key. Where a part has the mark between parts, lengths tell the parts apart: `a|b`, `c` is not `a`, `b|c`. */
function joinedKey(parts: readonly string[]): string {
  const joined = parts.join('|')
  const isPlain = parts.length === 1 || !parts.some((part) => part.includes('|'))
  return isPlain ? joined : `${joined}\n${parts.map(({ length }) => length).join()}`
}

const UNDONE: Readonly<Record<Undone, string>> = {
  formula: 'the reference of the person is a spreadsheet formula; its text is used',
  invisible:
    'the reference of the person has invisible or decomposed characters; they are removed or composed',
}

/** The person's reference as sent, or the issue of a row without one. */
function readPerson(context: CompileContext, field: CompiledField, scope: Scope): string | Issue {
  const issue = (code: string, message: string): Issue => issueOf(fault(code, message), field.from)
  const text = field.read(scope)
  if (typeof text !== 'string') return issue(text.code, text.message)
  if (text === '') return issue('account-missing', 'no reference of the person')
  if (context.checks.effects['damaged-key'] === 'off') return text
  const read = readReference(text)
  if ('reference' in read) {
    if (read.undone !== undefined) context.checks.note(issue('account-repaired', UNDONE[read.undone]))
    return read.reference
  }
  const found = issue(read.code, read.message)
  return read.code === 'account-damaged'
    ? (context.checks.found('damaged-key', null, null, found) ?? text)
    : found
}

/** Finds long numbers that a spreadsheet has rounded: several rows would share a key. */
function damagedKey(context: CompileContext, field: CompiledField, text: string): Issue | undefined {
  if (!isExponent(text)) return undefined
  const message = 'a part of the row key is in scientific notation: a spreadsheet dropped its digits'
  return context.checks.found('damaged-key', null, null, refused('key-damaged', field, message).issue)
}

const refused = (
  code: string,
  field: CompiledField | undefined,
  message: string,
): { ok: false; issue: Issue } => ({ ok: false, issue: issueOf(fault(code, message), field?.from) })

const UNKNOWN_PERSON: CompiledPerson = { bornAt: () => Number.NEGATIVE_INFINITY, nameOf: () => '' }

/** Some words for none are names of people: `Nan`, `Na`, `Max`. */
const COULD_BE_NAME = /^[\p{L}.]+$/u
const NO_NAME = /^(?:NULL|null|[Uu]ndefined|[Uu]nknown|UNKNOWN|[Uu]nbekannt|[Ii]nconnue?|[Dd]esconocid[ao])$/
/** A mark for a lost letter; a NUL; UTF-8 read as windows-1252 (`Ã©` for `é`, `Å‚` for `ł`, `â€™` for `’`); an entity of HTML; a formula. */
const DAMAGED_NAME = /[\ufffd?\0]|â€|ï¿½|[ÂÃÄÅ][\u0080-\u00bfŒœŠšŸŽžƒˆ˜\u2013-\u203a€™]|&#?\w+;|^=/u

const DAMAGE = {
  incomplete: 'a word or sign for none',
  damaged: 'damaged by a program or a spreadsheet',
} as const

/** Fault of a text of a registration, which the gateway could never correct. */
function registeredFault(of: string, text: string): keyof typeof DAMAGE | undefined {
  if (of === 'firstName' || of === 'lastName') return nameFault(text)
  if (of !== 'postalCode') return undefined
  const read = readReference(text)
  const code = 'code' in read ? read.code : undefined
  if (code === 'account-missing' && !/\d/.test(text)) return 'incomplete'
  return code === 'account-damaged' || text.startsWith('=') ? 'damaged' : undefined
}

/** Fault of a name of a person or provider. */
export function nameFault(text: string): keyof typeof DAMAGE | undefined {
  const read = readReference(text)
  const isNone = 'code' in read && read.code === 'account-missing' && !COULD_BE_NAME.test(text)
  if (isNone || NO_NAME.test(text) || !/\p{L}/u.test(text)) return 'incomplete'
  return DAMAGED_NAME.test(text) ? 'damaged' : undefined
}

/** Compiles registration. All six fields are required: the interface names none as optional. */
function compileRegister(context: CompileContext, register: RegisterDefinition): CompiledPerson {
  const fieldOf = (name: keyof RegisterDefinition) => ({
    name,
    field: rowField(context, register[name], [...REGISTER, name], 'registration'),
  })
  const birth = fieldOf('dateOfBirth')
  const first = fieldOf('firstName')
  const last = fieldOf('lastName')
  const fields = [first, last, fieldOf('gender'), fieldOf('postalCode'), birth]
  const dayOf = compileBirthDate(register.dateOfBirth)
  const registeredDay = compileBirthDate(register.dateOfBirth, context.checks)
  const isChecked = context.checks.effects['damaged-key'] === 'reject'
  const textOf = ({ field }: typeof birth, scope: Scope): string => {
    const text = field.read(scope)
    return typeof text === 'string' ? text : ''
  }
  return {
    bornAt(scope) {
      const text = textOf(birth, scope)
      return (text === '' ? undefined : dayOf(text)) ?? Number.NEGATIVE_INFINITY
    },
    nameOf(scope) {
      const firstName = textOf(first, scope)
      const lastName = textOf(last, scope)
      return firstName === '' || lastName === '' ? '' : `${firstName}|${lastName}`
    },
    register(scope, account) {
      const values: Record<string, string> = {}
      for (const { name, field } of fields) {
        const text = field.read(scope)
        if (typeof text !== 'string')
          return refused(`registration-${text.code}`, field, `${name}: ${text.message}`)
        if (text === '')
          return refused('registration-incomplete', field, `registration needs ${name}, which is empty`)
        const damage = isChecked && field.from !== undefined ? registeredFault(name, text) : undefined
        if (damage !== undefined)
          return refused(`registration-${damage}`, field, `${name}: ${DAMAGE[damage]}`)
        values[name] = text
      }
      const { firstName = '', lastName = '', gender = '', postalCode = '' } = values
      const dateOfBirth = dayText(registeredDay(values['dateOfBirth'] ?? ''))
      if (dateOfBirth === undefined)
        return refused(
          'registration-date-invalid',
          birth.field,
          "the date of birth matches none of the mapping's formats, is before 1900, or lies in the future",
        )
      const { reference: partnerAccountId } = account
      const registration = { dateOfBirth, firstName, gender, lastName, partnerAccountId, postalCode }
      return { ok: true, registration }
    },
  }
}
