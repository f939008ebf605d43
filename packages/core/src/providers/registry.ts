import type { Provider } from './provider.ts'

/** Every provider there is, loaded when it is first used. A new one is one file and one line here. */
const PROVIDERS: Record<string, () => Promise<Provider>> = {
  sandbox: async () => (await import('./sandbox.ts')).sandbox(),
}

/** @throws Error for a name that nobody registered. */
export async function loadProvider(name: string): Promise<Provider> {
  const load = PROVIDERS[name]
  if (!load) throw new Error(`there is no provider named ${name}`)
  return load()
}
