import type { PlatformAbortSignal, PlatformResponse } from '../platform.ts'

/** Options of one call. */
export interface CallOptions {
  /**
   * Makes a repetition of a send, a bulk or a checkout harmless: within 24 hours, the same key and body get the first
   * answer. By default the client makes a key, so that its own retries are harmless.
   */
  idempotencyKey?: string | undefined
  /** Ends the call and its waits; the call then rejects with the reason of the signal. */
  signal?: PlatformAbortSignal | undefined
  /** The time for one attempt in milliseconds. */
  timeout?: number | undefined
  maxRetries?: number | undefined
  /** The longest wait before a retry in milliseconds; the call fails if `Retry-After` asks for more. Default: 60,000. */
  maxRetryDelay?: number | undefined
}

/** An answer with its HTTP response, whose body is already read. */
export interface WithResponse<T> {
  data: T
  response: PlatformResponse
  /** The id of the request in the log of the service. */
  requestId: string | null
}

/** A call in flight: a promise of its data. */
export interface Call<T> extends Promise<T> {
  /** Returns the data with the HTTP response and the id of the request. */
  withResponse(): Promise<WithResponse<T>>
}

/**
 * A list: `await` gives the first page, `for await` gives every item. It sends its first request when it is used. A
 * loop continues after the last item of each page, so items that are added meanwhile neither repeat nor hide others.
 */
export interface List<Page, Item> extends Call<Page>, AsyncIterable<Item> {}

/** A call whose request is sent by `start`: at once, or at its first use if `isLazy`. */
export class PendingCall<T> implements Call<T> {
  readonly [Symbol.toStringTag] = 'Call'
  readonly #start: () => Promise<WithResponse<T>>
  #answer: Promise<WithResponse<T>> | undefined

  constructor(start: () => Promise<WithResponse<T>>, { isLazy = false } = {}) {
    this.#start = start
    if (!isLazy) this.withResponse()
  }

  withResponse(): Promise<WithResponse<T>> {
    this.#answer ??= this.#start()
    return this.#answer
  }

  // biome-ignore lint/suspicious/noThenProperty: a call is a promise that also gives its response.
  then<A = T, B = never>(
    onData?: ((data: T) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.withResponse()
      .then(({ data }) => data)
      .then(onData, onError)
  }

  catch<B = never>(onError?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(null, onError)
  }

  finally(onEnd?: (() => void) | null): Promise<T> {
    return this.then().finally(onEnd)
  }
}

/** A list; `startAfter` requests the page after a position. */
export class PendingList<Page extends object, Item>
  extends PendingCall<Page>
  implements List<Page, Item>
{
  readonly #items: string
  readonly #startAfter: (after: string) => Promise<WithResponse<Page>>

  constructor(
    items: string,
    start: () => Promise<WithResponse<Page>>,
    startAfter: (after: string) => Promise<WithResponse<Page>>,
  ) {
    super(start, { isLazy: true })
    this.#items = items
    this.#startAfter = startAfter
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let page = (await this) as Page & { [field: string]: unknown }
    for (;;) {
      const { next_after: after } = page
      yield* page[this.#items] as Item[]
      if (typeof after !== 'string') return
      page = (await this.#startAfter(after)).data as typeof page
      // A server that repeats a position would keep the loop from ending.
      if (page.next_after === after) return
    }
  }
}
