/**
 * The door through which files arrive: a source says what lies at its place, and what may come in is decided here, for all sources alike.
 * A name from elsewhere becomes part of paths, addresses and messages, so it must be the name of one file in one folder, and no more.
 */
import { WaybillError } from '../../model/errors.ts'
import { shown } from '../../shown-text.ts'
import { compilePattern, matchExportName } from '../discover.ts'
import type { Delivery, Listing, RefusedFile } from './export-source.ts'

/** A file as its source names it, before anybody has looked at the name. */
export interface ListedFile extends Delivery {
  /** A link to a file elsewhere. */
  readonly isLink?: boolean
}

/** @param prefix what the source was asked for, and every name must begin with: that of keys of S3 */
export function listingOf(listed: readonly ListedFile[], prefix = ''): Listing {
  const files: Delivery[] = []
  const refused: RefusedFile[] = []
  for (const { isLink = false, ...file } of listed) {
    const isInside = file.name.startsWith(prefix)
    const name = isInside ? file.name.slice(prefix.length) : file.name
    const problem = isInside ? problemOf(name, isLink) : `it does not lie in ${prefix}`
    if (problem === undefined) files.push({ ...file, name })
    // The folder itself, as some storage lists it.
    else if (name !== '') refused.push(refusal(name, problem))
  }
  return { files, refused }
}

function problemOf(name: string, isLink: boolean): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'its name is that of a folder'
  if (name.includes('/')) return 'its name leads to another folder'
  if (/\p{Cc}/u.test(name)) return 'its name has control characters'
  // What a name in another encoding becomes: nothing can be opened by it.
  if (name.includes('\ufffd')) return 'its name is not UTF-8'
  return isLink ? 'it is a link, and links are not followed' : undefined
}

/** @throws WaybillError `export-refused` where a name that stands in an archive is none of one file. @param address of the archive */
export function assertMemberName(address: string, path: string): void {
  const problem = path
    .split('/')
    .map((part) => problemOf(part, false))
    .find((one) => one !== undefined)
  if (problem === undefined) return
  const message = `A member of the archive is refused: ${problem} (${shownName(path)}).`
  throw new WaybillError('export-refused', message, { place: { file: address } })
}

const refusal = (name: string, problem: string): RefusedFile => ({
  shown: shownName(name),
  error: new WaybillError('export-refused', `The file is refused: ${problem}.`),
  names: [name, (name.split('/').at(-1) ?? '').replaceAll(/\p{Cc}/gu, '')],
})

/** Those that patterns of a job mean: what fits none is none of its business. */
export function meantBy(patterns: readonly string[], refused: readonly RefusedFile[]): RefusedFile[] {
  const compiled = patterns.map(compilePattern)
  return refused.filter(({ names }) =>
    compiled.some((pattern) => names.some((name) => matchExportName(pattern, name) !== undefined)),
  )
}

/** Characters of a name that are shown. */
const MOST_SHOWN = 120

/** In one line, with nothing in it that acts. */
const shownName = (name: string): string => {
  const whole = shown(name)
  return whole.length > MOST_SHOWN ? `${whole.slice(0, MOST_SHOWN)}…` : whole
}
