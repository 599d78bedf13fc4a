/** Of which installation a notice is: several may tell one person of jobs of the same name. Pure. */
import type { Notice } from './notice.ts'

export interface Installation {
  readonly host: string
  /** Its home folder. */
  readonly home: string
}

/** The same notice with host and home: in its text before what to type next, and in its data. */
export function sentFrom(notice: Notice, { host, home }: Installation): Notice {
  const { text, data } = notice
  const next = text.indexOf('Next')
  const at = next === -1 ? text.length : next
  return {
    ...notice,
    text: [...text.slice(0, at), `Told by  ${host}, home ${home}`, ...text.slice(at)],
    data: { ...data, host, home },
  }
}
