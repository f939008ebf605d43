/** What a person chooses for this browser: a tag of a language, `light` or `dark`, `workspace` or `UTC`. Without a choice: its system. */
type Preference = 'language' | 'theme' | 'time-zone'

// Tests read the texts without a browser, and their types know none.
const browser = globalThis as unknown as {
  localStorage: {
    getItem(name: string): string | null
    setItem(name: string, value: string): void
    removeItem(name: string): void
  }
  location: { reload(): void }
}

/** A choice of the person; empty for none. */
export function preference(name: Preference): string {
  try {
    return browser.localStorage.getItem(`svc.${name}`) ?? ''
  } catch {
    return ''
  }
}

/** Stores a choice, and loads the document again: texts and colours are read when it is loaded. Empty: none. */
export function prefer(name: Preference, value: string): void {
  try {
    if (value) browser.localStorage.setItem(`svc.${name}`, value)
    else browser.localStorage.removeItem(`svc.${name}`)
  } catch {
    // A browser without storage stays as its system is.
  }
  browser.location.reload()
}
