/** Milliseconds of processor time that this thread takes for some work. What else a machine has to do does not add to it. */
export async function processorMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  await work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
