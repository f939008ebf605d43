import type { ConsoleFacts } from '../../src/console-api/console-answers.ts'

const META = document.querySelector<HTMLMetaElement>('meta[name=svc-console]')

/** The facts that the server wrote into the page. */
export const facts = JSON.parse(META?.content ?? '{}') as ConsoleFacts

/** The path of the console in the browser, such as `/console`: the scripts are in its folder `assets`. */
export const base = new URL('..', import.meta.url).pathname.replace(/\/$/, '')

/** The name of the first script. */
export const script = import.meta.url.replace(/.*\//, '')
