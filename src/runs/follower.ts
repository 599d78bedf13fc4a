/** Follower of a run: hears its begin and its end, and fails nothing. Events of the run come by `RunEvents`. */
export interface Follower<End> {
  begun?(): void | Promise<void>
  ended?(end: End): void | Promise<void>
  /** The run was refused, or broke off. */
  failed?(error: unknown): void | Promise<void>
}
