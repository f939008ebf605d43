/** What the form narrows the list to. */
export function createFilter(form) {
  const values = () => Object.fromEntries(new FormData(form))
  return {
    values,
    isSet: () => Object.values(values()).some(Boolean),
    wants({ channel, status }) {
      const wanted = values()
      const isChannel = !wanted.channel || wanted.channel === channel
      return isChannel && (!wanted.status || wanted.status === status)
    },
    onChange: (listener) => form.addEventListener('change', listener),
    /** Mails have nothing to be narrowed by. */
    offer: (isOffered) => form.classList.toggle('unfit', !isOffered),
  }
}
