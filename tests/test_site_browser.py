"""The reference site in headless Chromium, opened as files: search, keyboard, themes, widths, contrast."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import dmlops
from dmlgen.cli import ROOT

selenium = pytest.importorskip("selenium", reason="selenium is missing: pip install -e .[dev]")

from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="Chromium is missing: scripts/install-debian-packages installs it"
)

KINDS = (
    *("index.html", "operators/gather_elements.html", "operators/lstm.html", "levels/4.1.html"),
    *(
        "levels/index.html",
        "general.html",
        "types.html",
        "rejected.html",
        "reading.html",
        "concepts.html",
        "language.html",
    ),
    *("rules.html", "errata.html"),
)
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

# What is typed, and the page or the title that it leads to first.
QUERIES = {
    "gather elements": "operators/gather_elements.html",
    "GatherElements": "operators/gather_elements.html",
    "gatherelements": "operators/gather_elements.html",
    "DML_OPERATOR_GATHER_ELEMENTS": "operators/gather_elements.html",
    "DML_GATHER_ELEMENTS_OPERATOR_DESC": "operators/gather_elements.html",
    "gather_elements": "operators/gather_elements.html",
    "gather elemnts": "operators/gather_elements.html",
    "convolutoin": "operators/convolution.html",
    "gemm": "operators/gemm.html",
    "conv": "operators/convolution.html",
    "onnx conv": "counterparts.html#onnx-Conv",
    "InstanceNormalization": "counterparts.html#onnx-InstanceNormalization",
    "webnn resample2d": "counterparts.html#webnn-resample2d",
    "directmlx fill value constant": "counterparts.html#directmlx-FILL_VALUE_CONSTANT-FillValueConstant",
    "softmax": "operators/activation_softmax.html",
    "relu": "operators/activation_relu.html",
    "multihead attention": "operators/multihead_attention.html",
    "mean variance normalization 2": "operators/mean_variance_normalization2.html",
    "DML_SCATTER_OPERATOR_DESC": "operators/scatter_elements.html",
    "top k": "operators/top_k.html",
    "GroupCount": "operators/convolution.html#GroupCount",
    "lstm clipthreshold": "operators/lstm.html#ClipThreshold",
    "DML-GEMM-inner-size": "operators/gemm.html#DML-GEMM-inner-size",
    "gather elements axis range": "operators/gather_elements.html#DML-GATHER_ELEMENTS-axis-range",
    "DML-TENSOR-total-size": "general.html#DML-TENSOR-total-size",
    "total size limit": "general.html#DML-TENSOR-total-size-limit",
    "nhwc": "concepts.html#layouts-nchw-and-nhwc",
    "broadcast": "concepts.html#broadcasting-strides-of-0",
    "int8 gemm": "concepts.html#8-bit-integers",
    "0x80070057": "rejected.html",
    "E_INVALIDARG": "rejected.html",
    "the parameter is incorrect": "rejected.html",
    "The parameter is incorrect.": "rejected.html",
    "feature level 5.0": "levels/5.0.html",
    "DML_FEATURE_LEVEL_6_4": "levels/6.4.html",
    "22621": "levels/5.0.html",
    "Windows 11 22H2": "levels/5.0.html",
    "DML_TENSOR_DATA_TYPE_FLOAT64": "types.html#DML_TENSOR_DATA_TYPE",
    "errata": "errata.html",
    "IndicesTensor.Sizes[1] is 5; it must equal InputTensor.Sizes[1], 3 (only the axis may differ).": (
        "operators/gather_elements.html#DML-GATHER_ELEMENTS-indices-sizes"
    ),
    "GEMM: BTensor.Sizes[0] is 3; it must equal ATensor.Sizes[0], 2 (A has as many columns as B has rows,": (
        "operators/gemm.html#DML-GEMM-inner-size"
    ),
    "it must equal InputTensor.Sizes[1], 3 (only the axis may differ)": (
        "operators/gather_elements.html#DML-GATHER_ELEMENTS-indices-sizes"
    ),
    "InputTensor.DataType is INT64; feature level 4.0 supports FLOAT32; INT64 needs feature level 4.1": (
        "general.html#DML-OPERATOR-data-type"
    ),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    assert BROWSER is not None
    options.binary_location = BROWSER
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_script_timeout(300)  # machines are shared
    yield driver
    driver.quit()


@pytest.fixture(autouse=True)
def as_before(browser: webdriver.Chrome) -> Iterator[None]:
    show_at(browser, 1280, 900)
    yield
    command(browser, "Emulation.setScriptExecutionDisabled", value=False)


def command(browser: webdriver.Chrome, name: str, **parameters: Any) -> Any:
    return browser.execute_cdp_cmd(name, parameters)


def show_at(browser: webdriver.Chrome, width: int, height: int) -> None:
    command(
        browser,
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=height,
        deviceScaleFactor=1,
        mobile=False,
    )


def address(site: Path, page: str) -> str:
    return (site / page).as_uri()


def typed(browser: webdriver.Chrome, text: str) -> list[str]:
    """The addresses that the search lists, from the root of the site."""
    box = browser.find_element(By.ID, "query")
    box.clear()
    box.send_keys(text)
    root = browser.execute_script("return new URL(root || '.', location.href).href")
    links = browser.execute_script(
        "return [...document.querySelectorAll('#results a')].map((one) => one.href)"
    )
    return [link.removeprefix(root) for link in links]


def test_the_search_finds(site: Path, browser: webdriver.Chrome) -> None:
    browser.get(address(site, "levels/1.0.html"))
    root = "return new Search(searchIndex).find(arguments[0]).map((entry) => entry.url)"
    wrong = {}
    for query, wanted in QUERIES.items():
        found = browser.execute_script(root, query)
        if not found or found[0] != wanted:
            wrong[query] = found[:3]
    assert wrong == {}


def test_the_message_of_every_rule_leads_to_it(site: Path, browser: webdriver.Chrome) -> None:
    """Results of the Python validators for the matrices' negatives, alone and as `explain` prints it."""
    messages: dict[str, tuple[str, str]] = {}
    for path in sorted(ROOT.glob("generated/matrix/*.json")):
        for case in json.loads(path.read_text(encoding="utf-8")).get("cases", ()):
            rule = case.get("breaks") or case.get("draws")
            if rule is not None and rule not in messages:
                desc = dmlops.from_json({"type": case["type"], "desc": case["desc"]})
                level = case["feature_level"]
                told = [one for one in (*desc.validate(level), *desc.advice(level)) if one.rule == rule]
                messages[rule] = (desc.OPERATOR, told[0].message)
    assert len(messages) > 900
    browser.get(address(site, "index.html"))
    script = """
        const search = new Search(searchIndex);
        return arguments[0].map(([rule, operator, message]) => [
            search.ofMessage(message).some((entry) => entry.title === rule),
            search.find(`${operator}: ${message}.`).slice(0, 5).some((entry) => entry.title === rule),
            search.find(`1. x\\n   ${message}.\\n   Rule ${rule}.`)[0]?.title === rule,
        ]);
    """
    rows = [[rule, operator, message] for rule, (operator, message) in messages.items()]
    found = browser.execute_script(script, rows)
    for place in range(3):
        missed = [row for row, answers in zip(rows, found, strict=True) if not answers[place]]
        assert missed == [], place


def test_the_keyboard_walks_through_the_search(site: Path, browser: webdriver.Chrome) -> None:
    browser.get(address(site, "rejected.html"))
    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to the content"
    body.send_keys("/")
    box = browser.switch_to.active_element
    assert box.get_attribute("id") == "query" and box.get_attribute("value") == ""
    box.send_keys("gather")
    assert box.get_attribute("aria-expanded") == "true"
    chosen = "return document.querySelector('#results [aria-selected=true]').id"
    assert browser.execute_script(chosen) == box.get_attribute("aria-activedescendant") == "result-0"
    box.send_keys(Keys.ARROW_DOWN)
    assert browser.execute_script(chosen) == box.get_attribute("aria-activedescendant") == "result-1"
    box.send_keys(Keys.ARROW_UP, Keys.ARROW_UP)
    assert box.get_attribute("aria-activedescendant") != "result-0"  # around to the last
    box.send_keys(Keys.ESCAPE)
    assert box.get_attribute("aria-expanded") == "false"
    assert not browser.find_element(By.ID, "results").is_displayed()
    links = typed(browser, "gemm inner size")
    box.send_keys(Keys.ENTER)
    assert browser.current_url.endswith("operators/gemm.html#DML-GEMM-inner-size") and links
    assert typed(browser, "no such thing anywhere") == []
    assert browser.find_element(By.ID, "count").get_attribute("textContent") == "Nothing found"


def test_a_pasted_message_is_found_from_any_page(site: Path, browser: webdriver.Chrome) -> None:
    browser.get(address(site, "operators/gemm.html"))
    message = "IndicesTensor.Sizes[1] is 5; it must equal InputTensor.Sizes[1], 3 (only the axis may differ)."
    assert typed(browser, message)[0].endswith("#DML-GATHER_ELEMENTS-indices-sizes")


def test_filters(site: Path, browser: webdriver.Chrome) -> None:
    rows = (
        "return [...document.querySelectorAll('[data-words]')].filter((row) => row.checkVisibility()).length"
    )
    browser.get(address(site, "index.html"))
    assert browser.execute_script(rows) == 177
    browser.find_element(By.NAME, "words").send_keys("gather")
    assert browser.execute_script(rows) < 10
    browser.find_element(By.NAME, "words").clear()
    browser.find_element(By.NAME, "level").send_keys("1.0")
    old = browser.execute_script(rows)
    assert old == sum(str(one.since) == "1.0" for one in dmlops.registry.OPERATORS.values())
    browser.get(address(site, "errata.html"))
    every = browser.execute_script(rows)
    browser.find_element(By.NAME, "source").send_keys("header")
    assert 0 < browser.execute_script(rows) < every


def test_pages_report_no_errors_and_fit_a_phone(site: Path, browser: webdriver.Chrome) -> None:
    show_at(browser, 360, 780)
    for page in KINDS:
        browser.get(address(site, page))
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= 360, page
        if page == "index.html":
            assert browser.find_element(By.LINK_TEXT, "Recurrent").is_displayed()
        if page.startswith("operators"):
            browser.execute_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 360, page
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [390, 820, 1040, 1440])
def test_nothing_is_cut_off(site: Path, browser: webdriver.Chrome, width: int) -> None:
    """Only charts of support scroll sideways."""
    show_at(browser, width, 900)
    for page in (
        *(
            f"operators/{name}.html"
            for name in ("multihead_attention1", "gru", "lstm", "convolution", "gemm")
        ),
        *("levels/index.html", "counterparts.html", "types.html", "language.html", "graphs.html"),
    ):
        browser.get(address(site, page))
        cut = browser.execute_async_script(
            """
            const [done] = arguments;
            const cut = () => [...document.querySelectorAll(".scroll")]
                .filter((box) => box.scrollWidth > box.clientWidth && box.checkVisibility())
                .filter((box) => !box.querySelector(".support"))
                .map((box) => box.getAttribute("aria-label") || box.getAttribute("aria-labelledby"));
            // The page observes sizes once per frame.
            requestAnimationFrame(() => requestAnimationFrame(() => done(cut())));
            """
        )
        assert cut == [], page


def test_the_theme_follows_the_system_and_the_switch(site: Path, browser: webdriver.Chrome) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    colors = {}
    for scheme in ("light", "dark"):
        scheme_of(browser, scheme)
        browser.get(address(site, "index.html"))
        colors[scheme] = browser.execute_script(ground)
    assert colors["light"] != colors["dark"]
    switch = browser.find_element(By.ID, "theme")
    switch.click()
    assert switch.text == "Theme: light" and browser.execute_script(ground) == colors["light"]
    switch.click()
    assert switch.text == "Theme: dark" and browser.execute_script(ground) == colors["dark"]
    switch.click()


def scheme_of(browser: webdriver.Chrome, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    command(browser, "Emulation.setEmulatedMedia", features=features)


STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


@pytest.mark.parametrize(("scheme", "rules"), [("light", STANDARDS), ("dark", ["color-contrast"])])
def test_pages_are_accessible(site: Path, browser: webdriver.Chrome, scheme: str, rules: list[str]) -> None:
    """What axe checks of WCAG 2.1 AA; in the other scheme only the contrast differs."""
    axe = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    scheme_of(browser, scheme)
    for page in KINDS[:12]:  # the last two are tables of hundreds of like rows
        browser.get(address(site, page))
        browser.execute_script(
            "document.querySelectorAll('details').forEach((one, number) => (one.open = number < 3))"
        )
        browser.execute_script(axe)
        result = browser.execute_async_script(
            """
            const [rules, done] = arguments;
            axe.run(document, { runOnly: rules, resultTypes: ["violations"] }).then(
                ({ violations }) => done(violations.map((one) => [one.id, one.nodes[0].html])));
            """,
            rules,
        )
        assert result == [], page


def test_pages_are_whole_without_scripts(site: Path, browser: webdriver.Chrome) -> None:
    command(browser, "Emulation.setScriptExecutionDisabled", value=True)
    for page, text in (
        ("index.html", "GATHER_ELEMENTS"),
        ("operators/gather_elements.html", "IndicesTensor.Sizes[d] == InputTensor.Sizes[d]"),
        ("rules.html", "DML-GEMM-inner-size"),
    ):
        browser.get(address(site, page))
        assert text in browser.find_element(By.TAG_NAME, "main").text
        assert not browser.find_element(By.CLASS_NAME, "search").is_displayed()
        assert not any(one.is_displayed() for one in browser.find_elements(By.CLASS_NAME, "filter"))
        assert not browser.find_element(By.ID, "theme").is_displayed()
    browser.find_element(By.LINK_TEXT, "Levels").click()
    assert browser.current_url.endswith("levels/index.html")
