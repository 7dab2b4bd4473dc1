import { Encrypter } from 'age-encryption'

// Preloaded into a program or imported by a test: backups under a passphrase are made with a 256th of the work that it is
// worth, which takes seconds of a processor each time.
const { setPassphrase } = Encrypter.prototype
Encrypter.prototype.setPassphrase = function (phrase) {
  this.setScryptWorkFactor(10)
  setPassphrase.call(this, phrase)
}
