/** Waits for all, then throws the first failure: nothing may still be under way when the caller goes on. */
export async function allDone<T>(tasks: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(tasks)
  const failure = results.find((result) => result.status === 'rejected')
  if (failure) throw failure.reason
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}
