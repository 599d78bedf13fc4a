/**
 * Entries of a FHIR R4 Bundle that is a row: the person whom a resource is about, and resources that the Bundle deletes. A rule that reads an
 * entry gets both checked, unless the mapping reads them, or names them under `ignore`.
 */
import { type Fault, fault, type RecordKind } from '../model/record.ts'
import type { JsonValue } from '../model/row.ts'
import type { CompileContext } from './compile-context.ts'
import { elements, firstText, membersOf } from './json-values.ts'
import { type Anchor, anchorAt, readAt, readingOf } from './reading.ts'
import { follow, type Scope, SEVERAL } from './scope.ts'
import { ENTRY } from './structures.ts'

export interface CompiledEntry {
  /** Fault of an entry about another person. @param reference the row's person, as sent */
  readonly isOfAnother: (scope: Scope, reference: string) => Fault | undefined
  readonly isDeleted: (scope: Scope) => boolean
  /** Kinds of the deleted resources without content in the Bundle around the entries of the rule. */
  readonly deletedIn: (root: Scope) => readonly RecordKind[]
}

const OF_ANOTHER = fault(
  'subject-of-another',
  'the resource is about somebody or something else than the patient of its Bundle',
)
export const DELETED = fault(
  'resource-deleted',
  'the Bundle deletes the resource: what was delivered of it stays at the gateway, which cannot delete it',
)
/** Reason by which a withdrawn result of a deleted entry is counted. */
export const BY_REQUEST = 'request DELETE'

const KINDS: ReadonlyMap<string, RecordKind> = new Map([
  ['Observation', 'biometric'],
  ['Condition', 'condition'],
  ['CareTeam', 'careTeam'],
])

/** @param reads paths of the rule; `rowReads`: paths of the row block. Undefined for a rule that reads no entry */
export function compileEntry(
  { names: { trails: trailsOf } }: CompileContext,
  reads: readonly string[],
  rowReads: readonly string[],
  ignored: readonly string[],
): CompiledEntry | undefined {
  if (trailsOf === undefined) return undefined
  for (const name of reads) {
    const trails = trailsOf(name)
    const at = trails.at(-1)?.steps.indexOf('entry') ?? -1
    const entry = at < 0 ? undefined : anchorAt(trails, at + 2)
    const bundle = anchorAt(trails, at)
    if (entry === undefined || bundle === undefined) continue
    const isRead = (...steps: string[]): boolean =>
      readAt(readingOf(entry.whole, [...reads, ...rowReads], trailsOf), steps) !== undefined
    return entryAt(entry, bundle, {
      isAny: ignored.includes(ENTRY.subject) || isRead('resource', 'subject'),
      isKept: ignored.includes(ENTRY.request) || isRead('request'),
    })
  }
  return undefined
}

function entryAt(
  entry: Anchor,
  bundle: Anchor,
  { isAny, isKept }: { readonly isAny: boolean; readonly isKept: boolean },
): CompiledEntry {
  const at = ({ from, steps }: Anchor, scope: Scope): JsonValue => {
    const found = follow(scope[from], steps)
    return found === SEVERAL ? null : (found ?? null)
  }
  // Rows come one after another: the person of the last Bundle serves all its entries.
  let last: { readonly document: JsonValue; readonly reference: string; readonly person: Person } | undefined
  const personIn = (document: JsonValue, reference: string): Person => {
    if (last?.document !== document || last.reference !== reference)
      last = { document, reference, person: personOf(document, reference) }
    return last.person
  }
  return {
    isOfAnother(scope, reference) {
      if (isAny) return undefined
      const { subject } = membersOf(membersOf(at(entry, scope))['resource'])
      return isAbout(membersOf(subject), personIn(at(bundle, scope), reference)) ? undefined : OF_ANOTHER
    },
    isDeleted: (scope) => !isKept && isDeletion(membersOf(at(entry, scope))),
    deletedIn: (root) =>
      isKept
        ? []
        : elements(membersOf(at(bundle, root))['entry'] ?? null).flatMap((one) => {
            const members = membersOf(one)
            if (members['resource'] !== undefined || !isDeletion(members)) return []
            const { url } = membersOf(members['request'])
            const [, type = ''] =
              /(?:^|\/)([A-Z]\w+)(?:[/?]|$)/.exec(typeof url === 'string' ? url : '') ?? []
            return KINDS.get(type) ?? []
          }),
  }
}

const isDeletion = ({ request }: ReturnType<typeof membersOf>): boolean =>
  firstText(membersOf(request)['method']) === 'DELETE'

/** Names of the row's person in a Bundle. */
interface Person {
  /** Full URL of the entry, ids, and the values of identifiers, each by its system. */
  readonly url: string
  readonly ids: ReadonlySet<string>
  readonly identifiers: readonly (readonly [system: string, value: string])[]
}

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')
const tailOf = (url: string): string => url.replace(/^.*[/:]/, '')

/** Person of a reference: the patient of that id, URL or identifier, or the only one. */
function personOf(document: JsonValue, reference: string): Person {
  const patients = elements(membersOf(document)['entry'] ?? null).flatMap((one): Person[] => {
    const { fullUrl, resource } = membersOf(one)
    const { resourceType, id, identifier = null } = membersOf(resource)
    if (resourceType !== 'Patient') return []
    const url = textOf(fullUrl)
    return [
      {
        url,
        ids: new Set([textOf(id), tailOf(url)].filter((text) => text !== '')),
        identifiers: elements(identifier).map((named) => {
          const { system, value } = membersOf(named)
          return [textOf(system), textOf(value)]
        }),
      },
    ]
  })
  const isNamed = ({ url, ids, identifiers }: Person): boolean =>
    url === reference || ids.has(reference) || identifiers.some(([, value]) => value === reference)
  const [only, another] = patients
  const lone = another === undefined ? only : undefined
  return (
    patients.find(isNamed) ?? lone ?? { url: '', ids: new Set([reference]), identifiers: [['', reference]] }
  )
}

const SERVER = /^https?:/

function isAbout({ reference, identifier }: ReturnType<typeof membersOf>, person: Person): boolean {
  const text = textOf(reference).replace(/\/_history\/[^/]*$/, '')
  const isIdentified = (system: string, value: string): boolean =>
    person.identifiers.some(([of, one]) => one === value && (of === system || of === '' || system === ''))
  if (text === '') {
    const { system, value } = membersOf(identifier)
    return textOf(value) === '' || isIdentified(textOf(system), textOf(value))
  }
  if (text === person.url) return true
  const [, system = '', value] = /^Patient\?identifier=(?:(.*)\|)?([^|&]+)$/.exec(text) ?? []
  if (value !== undefined) return isIdentified(system, value)
  // The same id on another server is another person.
  if (SERVER.test(text) && SERVER.test(person.url)) return false
  return (
    /^(?:(?:https?:.*\/)?Patient\/|urn:(?:uuid|oid):)?[^/:#?]+$/.test(text) && person.ids.has(tailOf(text))
  )
}
