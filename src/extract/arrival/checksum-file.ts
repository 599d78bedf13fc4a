/** Reads checksum files: as sha256sum and md5sum write them, in the BSD form of both, or the bare digest. */

export interface Checksum {
  readonly algorithm: 'md5' | 'sha1' | 'sha256' | 'sha512'
  /** Hexadecimal digits in lower case. */
  readonly digest: string
}

const BY_LENGTH = { 32: 'md5', 40: 'sha1', 64: 'sha256', 128: 'sha512' } as const
const BSD = /^(MD5|SHA1|SHA256|SHA512) ?\((.+)\) ?= ?([0-9a-f]+)$/i
/** GNU coreutils: a backslash in front where the name is escaped, then digest, blank, `*` or blank, name. */
const GNU = /^\\?([0-9a-f]+)(?:[ \t]+\*?(.+))?$/i

/**
 * The checksum of the file with that name. In the file a name may have a folder in front; a digest without a name, or a single
 * line with whatever name, is that of the file it lies beside.
 * @returns undefined where the text has no checksum for it
 */
export function readChecksum(text: string, name: string): Checksum | undefined {
  const lines = text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  const entries = lines.map(readLine).filter((entry) => entry !== undefined)
  const own = entries.find((entry) => entry.name?.split(/[/\\]/).at(-1) === name)
  const only = lines.length === 1 ? entries[0] : undefined
  return (own ?? only)?.checksum
}

function readLine(line: string): { checksum: Checksum; name: string | undefined } | undefined {
  const bsd = BSD.exec(line)
  const [digest = '', name] = bsd === null ? (GNU.exec(line)?.slice(1) ?? []) : [bsd[3], bsd[2]]
  const algorithm = Object.entries(BY_LENGTH).find(([length]) => Number(length) === digest.length)?.[1]
  if (algorithm === undefined || (bsd !== null && bsd[1]?.toLowerCase() !== algorithm)) return undefined
  return { checksum: { algorithm, digest: digest.toLowerCase() }, name }
}
