/** Sessions of the console: opened by a secret address, once, or by a login. Kept in memory: a session ends with the process. */
import { createHash } from 'node:crypto'

/** Time without a request of a person after which a session ends, and the longest session, in milliseconds. */
export const IDLE_MS = 30 * 60_000
export const LENGTH_MS = 12 * 3_600_000

/** Random bytes of a secret: 128 bits. */
const SECRET_BYTES = 16

/** `viewer` sees all pages, `operator` acts, and `health-data` sees values of rows. An operator is a viewer, too. */
export const ROLES = ['viewer', 'operator', 'health-data'] as const
export type Role = (typeof ROLES)[number]

/** Person behind a session. */
export interface User {
  readonly name: string
  readonly roles: ReadonlySet<Role>
}

export const isSameUser = (one: User, other: User): boolean =>
  one.name === other.name && ROLES.every((role) => one.roles.has(role) === other.roles.has(role))

export interface Session {
  readonly user: User
  /** Field of each form of the session. */
  readonly csrf: string
  readonly openedAt: number
  /** Words for the next page: the result of an action. */
  notice: string | undefined
}

interface Kept extends Session {
  usedAt: number
}

export type Sessions = ReturnType<typeof createSessions>

/** Clock and random numbers. */
export interface SessionParts {
  readonly now: () => number
  readonly randomHex: (bytes: number) => string
}

export function createSessions({ now, randomHex }: SessionParts) {
  // The time of a search for a hash reveals nothing about the secret.
  const sessions = new Map<string, Kept>()
  let entrance = ''
  const isOver = ({ usedAt, openedAt }: Kept): boolean =>
    now() - usedAt >= IDLE_MS || now() - openedAt >= LENGTH_MS
  return {
    /** Makes the secret of the next address; the previous address no longer works. */
    invite(): string {
      const secret = randomHex(SECRET_BYTES)
      entrance = digest(secret)
      return secret
    },
    /** Uses the secret up. @returns false for a wrong or used secret */
    isInvited(secret: string): boolean {
      if (digest(secret) !== entrance) return false
      entrance = ''
      return true
    },
    /** Opens a session with a new cookie, never with a cookie that the browser brought. */
    open(user: User): { readonly cookie: string; readonly session: Session } {
      for (const [key, session] of sessions) if (isOver(session)) sessions.delete(key)
      const cookie = randomHex(SECRET_BYTES)
      const at = now()
      const csrf = randomHex(SECRET_BYTES)
      const session = { user, csrf, openedAt: at, usedAt: at, notice: undefined }
      sessions.set(digest(cookie), session)
      return { cookie, session }
    },
    /** @param isPerson false for a request that the page makes by itself: such requests keep no session alive */
    find(cookie: string | undefined, isPerson: boolean): Session | undefined {
      const session = cookie === undefined ? undefined : sessions.get(digest(cookie))
      if (session === undefined || isOver(session)) return undefined
      if (isPerson) session.usedAt = now()
      return session
    },
    close(cookie: string | undefined): void {
      if (cookie !== undefined) sessions.delete(digest(cookie))
    },
  }
}

const digest = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** True if both texts are equal; the time of the comparison reveals nothing. */
export const isSecret = (secret: string, given: unknown): boolean =>
  typeof given === 'string' && digest(given) === digest(secret)
