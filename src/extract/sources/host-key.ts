/** Checks the key of an SSH host by a fingerprint, or by a known_hosts file (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"). */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { WaybillError } from '../../model/errors.ts'
import { readObeyed } from '../../system/obeyed-files.ts'

/** @returns `SHA256:…`, as `ssh-keygen -l` prints it */
export function hostKeyFingerprint(key: Uint8Array): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
}

/**
 * @param pinned a fingerprint, or the path of a known_hosts file
 * @throws WaybillError `source-untrusted` for a file that cannot be read or does not know the host
 */
export async function hostKeyCheck(
  pinned: string,
  host: string,
  port: number,
): Promise<(key: Uint8Array) => boolean> {
  if (pinned.startsWith('SHA256:')) {
    const expected = pinned.replace(/=+$/, '')
    return (key) => equal(Buffer.from(hostKeyFingerprint(key)), Buffer.from(expected))
  }
  const text = await readObeyed(pinned).catch((cause) => {
    if (cause instanceof WaybillError) throw cause
    throw new WaybillError('source-untrusted', 'The known_hosts file cannot be read.', {
      place: { file: pinned },
      remedy: 'Name a known_hosts file in `hostKey`, or the fingerprint of the server, SHA256:….',
      cause,
    })
  })
  const bare = host.toLowerCase()
  const name = port === 22 ? bare : `[${bare}]:${port}`
  const lines = text.split(/\r?\n/).flatMap((line) => readLine(line))
  // A key is revoked on each port of the host.
  const revoked = lines.filter(
    ({ mark, hosts }) => mark === '@revoked' && (isFor(hosts, name) || isFor(hosts, bare)),
  )
  const known = lines.filter(({ mark, hosts }) => mark === undefined && isFor(hosts, name))
  if (known.length === 0)
    throw new WaybillError('source-untrusted', `The known_hosts file does not know ${name}.`, {
      place: { file: pinned },
      remedy: 'Add its key (`ssh-keyscan`), after its operator has confirmed the fingerprint.',
    })
  return (key) => known.some((line) => equal(line.key, key)) && !revoked.some((line) => equal(line.key, key))
}

interface KnownHost {
  readonly mark: string | undefined
  readonly hosts: string
  readonly key: Uint8Array
}

function readLine(line: string): KnownHost[] {
  const fields = line.trim().split(/\s+/)
  const mark = fields[0]?.startsWith('@') ? fields.shift() : undefined
  const [hosts = '', type = '', key = ''] = fields
  return hosts === '' || hosts.startsWith('#') || type === '' || key === ''
    ? []
    : [{ mark, hosts, key: Buffer.from(key, 'base64') }]
}

/**
 * Matches a name with patterns divided by commas, or with one hashed name: `|1|salt|HMAC-SHA1 of the name`. In a pattern, `*` is any run of
 * characters and `?` any character. A pattern behind `!` excludes the names that match.
 */
function isFor(hosts: string, name: string): boolean {
  const [, version, salt = '', hashed = ''] = hosts.split('|')
  if (version !== '1') {
    const matching = hosts
      .toLowerCase()
      .split(',')
      .filter((one) => matches(one.replace(/^!/, ''), name))
    return matching.length > 0 && !matching.some((one) => one.startsWith('!'))
  }
  const mac = createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest()
  return equal(mac, Buffer.from(hashed, 'base64'))
}

const matches = (pattern: string, name: string): boolean => {
  const source = pattern
    .replace(/[\\^$.+()[\]{}|]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${source}$`).test(name)
}

const equal = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b)
