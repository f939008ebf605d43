/** The filter of the list. */
export function createFilter(form) {
  const values = () => Object.fromEntries(new FormData(form))
  return {
    values,
    isSet: () => Object.values(values()).some(Boolean),
    matches({ channel, status }) {
      const chosen = values()
      const isChannel = !chosen.channel || chosen.channel === channel
      return isChannel && (!chosen.status || chosen.status === status)
    },
    onChange: (listener) => form.addEventListener('change', listener),
    /** Shows or hides the form, because mails have no filter. */
    offer: (isOffered) => form.classList.toggle('unfit', !isOffered),
  }
}
