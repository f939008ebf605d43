/** A type of the platform, such as `Response`; `Else` where the types of the program have neither DOM nor Node. */
export type Global<Name extends string, Else> = typeof globalThis extends {
  [_ in Name]: { prototype: infer Type }
}
  ? Type
  : Else

/** `AbortSignal`, where the program has its type. */
export type PlatformAbortSignal = Global<
  'AbortSignal',
  {
    readonly aborted: boolean
    readonly reason: unknown
    addEventListener(type: 'abort', listener: () => void): void
    removeEventListener(type: 'abort', listener: () => void): void
  }
>

/** `Response`, where the program has its type. */
export type PlatformResponse = Global<'Response', FetchedAnswer>

/** `Request`, where the program has its type. */
export type PlatformRequest = Global<
  'Request',
  {
    readonly method: string
    readonly url: string
    readonly headers: { get(name: string): string | null }
    arrayBuffer(): Promise<ArrayBuffer>
  }
>

/** The part of a `Response` that the client uses. */
export interface FetchedAnswer {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}

/** Sends one request. The global `fetch` has this type; another function needs only these parts. */
export type Fetch = (
  url: string,
  init: {
    method: string
    headers: Record<string, string>
    body?: string
    signal: PlatformAbortSignal
    redirect: 'manual'
  },
) => PromiseLike<FetchedAnswer>

/** A variable of the environment; undefined where there is none, for example in a browser. */
export function environmentOf(name: string): string | undefined {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
    return process?.env?.[name]?.trim() || undefined
  } catch {
    // Deno without permission to read the variable.
    return undefined
  }
}
