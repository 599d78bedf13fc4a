/** Sessions of the console: a secret address opens one, once. Kept in memory: they end with the process. */
import { createHash } from 'node:crypto'

/** Time without a request of a person after which a session ends, and its whole length, in milliseconds. */
export const IDLE_MS = 30 * 60_000
export const LENGTH_MS = 12 * 3_600_000

/** Bytes of chance in a secret: 128 bits. */
const SECRET_BYTES = 16

export interface Session {
  /** Belongs into each form of the session. */
  readonly csrf: string
  readonly openedAt: number
  /** Words for the next page: the result of an action. */
  notice: string | undefined
}

interface Kept extends Session {
  usedAt: number
}

export type Sessions = ReturnType<typeof createSessions>

export function createSessions({
  now,
  randomHex,
}: {
  readonly now: () => number
  readonly randomHex: (bytes: number) => string
}) {
  // Looking for a hash takes a time that tells nothing of the secret.
  const sessions = new Map<string, Kept>()
  let entrance = ''
  const isOver = ({ usedAt, openedAt }: Kept): boolean =>
    now() - usedAt >= IDLE_MS || now() - openedAt >= LENGTH_MS
  return {
    /** Makes the secret of the next address, in place of the one before. */
    invite(): string {
      const secret = randomHex(SECRET_BYTES)
      entrance = digest(secret)
      return secret
    },
    /** @returns the cookie of a new session; undefined for a wrong or used secret */
    enter(secret: string): string | undefined {
      if (digest(secret) !== entrance) return undefined
      entrance = ''
      for (const [key, session] of sessions) if (isOver(session)) sessions.delete(key)
      const cookie = randomHex(SECRET_BYTES)
      const at = now()
      const csrf = randomHex(SECRET_BYTES)
      sessions.set(digest(cookie), { csrf, openedAt: at, usedAt: at, notice: undefined })
      return cookie
    },
    /** @param isPerson false for a request that the page makes by itself: it keeps no session alive */
    find(cookie: string | undefined, isPerson: boolean): Session | undefined {
      const session = cookie === undefined ? undefined : sessions.get(digest(cookie))
      if (session === undefined || isOver(session)) return undefined
      if (isPerson) session.usedAt = now()
      return session
    },
    leave(cookie: string | undefined): void {
      if (cookie !== undefined) sessions.delete(digest(cookie))
    },
  }
}

const digest = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** True for the token of the session's forms. */
export const isFormOf = ({ csrf }: Session, given: string | null): boolean =>
  given !== null && digest(given) === digest(csrf)
