// Sends the form of the page by itself; without scripts, its button does. ES5: old browsers, too.
(function () {
  'use strict';
  var form = document.getElementById('form-post');
  if (form) { HTMLFormElement.prototype.submit.call(form); }
}());
